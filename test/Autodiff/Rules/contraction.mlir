// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// Products with the other operand.

// CHECK-LABEL: module @matmul
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[TURNED:.*]] = "onnx.Transpose"(%w) {{.*}}perm = array<i64: 1, 0>
// CHECK: %[[X:.*]] = "onnx.MatMul"(%[[GRAD]], %[[TURNED]])
// CHECK: mp.gradient %[[X]] of %x
module @matmul attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>):
    %t = "onnx.MatMul"(%x, %w) {onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// Gemm turns its operands itself.
// CHECK-LABEL: module @gemm
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[X:.*]] = "onnx.Gemm"(%w, %[[GRAD]]) {{.*}}transA = 0 : i64, transB = 1 : i64
// CHECK: mp.gradient %[[X]] of %x
module @gemm attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<3x2xf32>, %w: tensor<3x4xf32>):
    %t = "onnx.Gemm"(%x, %w) {transA = 1 : i64, onnx.name = "node", onnx.results = ["t"]} : (tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @unknown_rank attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<*xf32>, %w: tensor<3x4xf32>):
    // expected-error @below {{the ranks of its operands are unknown}}
    %t = "onnx.MatMul"(%x, %w) {onnx.name = "node", onnx.results = ["t"]} : (tensor<*xf32>, tensor<3x4xf32>) -> tensor<*xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<*xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}]}
  }
}
