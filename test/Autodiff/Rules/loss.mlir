// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// Probabilities less the labels.

// The node gets its second result, the logarithms.
// CHECK-LABEL: module @cross_entropy
// CHECK: %t, %[[LOG:.*]] = "onnx.SoftmaxCrossEntropyLoss"
// CHECK: "onnx.com.microsoft.SoftmaxCrossEntropyLossGrad"(%{{.*}}, %[[LOG]], %labels)
module @cross_entropy attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %labels = onnx.initializer "labels" dense<[0, 2]> : tensor<2xi64> : tensor<2xi64>
    %t = "onnx.SoftmaxCrossEntropyLoss"(%x, %labels) {onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<f32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<f32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// The gradient at each label.
// CHECK-LABEL: module @likelihood
// CHECK: %[[IS_LABEL:.*]] = "onnx.Equal"
// CHECK: %[[SLOPE:.*]] = "onnx.Neg"
// CHECK: "onnx.Where"(%[[IS_LABEL]], %[[SLOPE]]
module @likelihood attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %labels = onnx.initializer "labels" dense<[0, 2]> : tensor<2xi64> : tensor<2xi64>
    %t = "onnx.NegativeLogLikelihoodLoss"(%x, %labels) {reduction = "sum", onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<f32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<f32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @unknown_rank attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<*xf32>):
    %labels = onnx.initializer "labels" dense<[0, 2]> : tensor<2xi64> : tensor<2xi64>
    // expected-error @below {{the rank of its scores is unknown}}
    %t = "onnx.NegativeLogLikelihoodLoss"(%x, %labels) {onnx.name = "node", onnx.results = ["t"]} : (tensor<*xf32>, tensor<2xi64>) -> tensor<*xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<*xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
