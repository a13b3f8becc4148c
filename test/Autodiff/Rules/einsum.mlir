// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// Another equation, of the gradient and the other operand.

// CHECK-LABEL: module @product
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[X:.*]] = "onnx.Einsum"(%[[GRAD]], %w) {equation = "ik,jk->ij"
// CHECK: mp.gradient %[[X]] of %x
module @product attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>):
    %t = "onnx.Einsum"(%x, %w) {equation = "ij,jk->ik", onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// A diagonal goes back through ones on it.
// CHECK-LABEL: module @diagonal
// CHECK: %[[EYE:.*]] = "onnx.EyeLike"
// CHECK: "onnx.Einsum"(%{{.*}}, %[[EYE]])
module @diagonal attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>):
    %t = "onnx.Einsum"(%x) {equation = "ii->i", onnx.name = "node", onnx.results = ["t"]} : (tensor<2x2xf32>) -> tensor<2xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @ellipsis attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    // expected-error @below {{its equation sums over an ellipsis}}
    %t = "onnx.Einsum"(%x) {equation = "...j->j", onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>) -> tensor<3xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<3xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
