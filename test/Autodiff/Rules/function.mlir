// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// The slope from the operand or, where that is as good, from the result.

// CHECK-LABEL: module @sqrt
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[TWICE:.*]] = "onnx.Mul"(%t
// CHECK: "onnx.Div"(%[[GRAD]], %[[TWICE]])
module @sqrt attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %t = "onnx.Sqrt"(%x) {onnx.name = "node", onnx.results = ["t"]} : (tensor<4xf32>) -> tensor<4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// CHECK-LABEL: module @sinh
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[COSH:.*]] = "onnx.Cosh"(%x)
// CHECK: "onnx.Mul"(%[[GRAD]], %[[COSH]])
module @sinh attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %t = "onnx.Sinh"(%x) {onnx.name = "node", onnx.results = ["t"]} : (tensor<4xf32>) -> tensor<4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
