// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// The adjoint of a transform is one.

// Of real numbers, the first part of each.
// CHECK-LABEL: module @dft
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[BACK:.*]] = "onnx.DFT"(%[[GRAD]], %{{.*}}) {inverse = 1 : i64
// CHECK: "onnx.Mul"(%[[BACK]]
// CHECK: "onnx.Slice"
module @dft attributes {onnx.opset_import = [["", 20]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x8x1xf32>):
    %t = "onnx.DFT"(%x) {onnx.name = "node", onnx.results = ["t"]} : (tensor<1x8x1xf32>) -> tensor<1x8x2xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<1x8x2xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @unknown_rank attributes {onnx.opset_import = [["", 20]]} {
  onnx.graph {
  ^bb0(%x: tensor<*xf32>):
    // expected-error @below {{expected an operand of known rank, two or more}}
    %t = "onnx.DFT"(%x) {onnx.name = "node", onnx.results = ["t"]} : (tensor<*xf32>) -> tensor<*xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<*xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
