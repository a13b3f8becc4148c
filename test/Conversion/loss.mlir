// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// Losses of labels.

// The score of each label, which is checked, and their sum.
// CHECK-LABEL: mp.name = "likelihoods"
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2xi64>) outs(%{{.*}} : tensor<2xf32>)
// CHECK: runtime.fail "node with output '' (NegativeLogLikelihoodLoss-13): label %0 of %1 classes"
// CHECK: tensor.extract %{{.*}} : tensor<2x3xf32>
// CHECK: arith.negf
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%{{.*}} : tensor<2xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK: arith.addf
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%likelihoods: tensor<2x3xf32>, %labels: tensor<2xi64>):
    %0 = "onnx.NegativeLogLikelihoodLoss"(%likelihoods, %labels) {reduction = "sum"} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "likelihoods"}, {name = "labels"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Of scores, the logarithm of the softmax; without a reduction each label has
// its loss.
// CHECK-LABEL: mp.name = "scores"
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: math.log
// CHECK-NOT: iterator_types = ["reduction"]
// CHECK: return %{{.*}} : tensor<2xf32>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%scores: tensor<2x3xf32>, %labels: tensor<2xi64>):
    %0 = "onnx.SoftmaxCrossEntropyLoss"(%scores, %labels) {reduction = "none"} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2xf32>
    onnx.yield %0 : tensor<2xf32> {onnx.inputs = [{name = "scores"}, {name = "labels"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>, %labels: tensor<2x3xi64>):
    // expected-error @below {{labels of 2 axes for scores of 2}}
    %0 = "onnx.NegativeLogLikelihoodLoss"(%x, %labels) {reduction = "sum"} : (tensor<2x3xf32>, tensor<2x3xi64>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "labels"}], onnx.outputs = [{name = "y"}]}
  }
}
