// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// By the gradients of the training vocabulary.

// The node gets the places of the greatest.
// CHECK-LABEL: module @max_pool
// CHECK: %t, %[[PLACES:.*]] = "onnx.MaxPool"(%x)
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: "onnx.com.microsoft.MaxPoolGrad"(%[[GRAD]], %[[PLACES]])
module @max_pool attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>):
    %t = "onnx.MaxPool"(%x) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, onnx.name = "node", onnx.results = ["t"]} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<1x1x2x2xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// CHECK-LABEL: module @average_pool
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: "onnx.com.microsoft.AveragePoolGrad"(%[[GRAD]])
module @average_pool attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>):
    %t = "onnx.AveragePool"(%x) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, onnx.name = "node", onnx.results = ["t"]} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<1x1x2x2xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @unknown_rank attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<*xf32>):
    // expected-error @below {{expected an operand of known rank, and attributes that fit}}
    %t = "onnx.MaxPool"(%x) {kernel_shape = array<i64: 2, 2>, onnx.name = "node", onnx.results = ["t"]} : (tensor<*xf32>) -> tensor<*xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<*xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
