// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// With the mean and the deviation of the forward pass.

// The node gets the results that it lacks.
// CHECK-LABEL: module @layer_norm
// CHECK: %t, %[[MEAN:.*]], %[[FACTOR:.*]] = "onnx.LayerNormalization"(%x, %w)
// CHECK: "onnx.com.microsoft.LayerNormalizationGrad"(%{{.*}}, %x, %w, %[[MEAN]], %[[FACTOR]]) {axis = 1 : i64
module @layer_norm attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4xf32>):
    %t = "onnx.LayerNormalization"(%x, %w) {onnx.name = "node", onnx.results = ["t"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @axis attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4xf32>):
    // expected-error @below {{expected an operand of known rank, and an axis of it}}
    %t = "onnx.LayerNormalization"(%x, %w) {axis = 3 : i64, onnx.name = "node", onnx.results = ["t"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}]}
  }
}
