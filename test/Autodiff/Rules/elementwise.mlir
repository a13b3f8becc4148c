// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// The slope at each element, summed where an operand was broadcast.

// CHECK-LABEL: module @mul
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[X:.*]] = "onnx.Mul"(%[[GRAD]], %w)
// CHECK: mp.gradient %[[X]] of %x
module @mul attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>, %w: tensor<3xf32>):
    %t = "onnx.Mul"(%x, %w) {onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x3xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// From the result, which is kept anyway.
// CHECK-LABEL: module @exp
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: "onnx.Mul"(%[[GRAD]], %t)
module @exp attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %t = "onnx.Exp"(%x) {onnx.name = "node", onnx.results = ["t"]} : (tensor<4xf32>) -> tensor<4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// CHECK-LABEL: module @broadcast
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[X:.*]] = "onnx.ReduceSum"(%[[GRAD]]
// CHECK: mp.gradient %[[X]] of %x
module @broadcast attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<3xf32>, %w: tensor<2x3xf32>):
    %t = "onnx.Add"(%x, %w) {onnx.name = "node", onnx.results = ["t"]} : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x3xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}]}
  }
}
