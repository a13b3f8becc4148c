// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// A product with the transposed matrix of weights for each axis that changes.

// CHECK-LABEL: module @nearest
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: "onnx.MatMul"(%{{.*}}, %[[GRAD]])
// CHECK: %[[X:.*]] = "onnx.MatMul"
// CHECK: mp.gradient %[[X]] of %x
module @nearest attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x2x2xf32>):
    %scales = onnx.initializer "scales" dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32> : tensor<4xf32>
    %none = onnx.absent
    %t = "onnx.Resize"(%x, %none, %scales) {mode = "nearest", onnx.name = "node", onnx.results = ["t"]} : (tensor<1x1x2x2xf32>, none, tensor<4xf32>) -> tensor<1x1x4x4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<1x1x4x4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// Weights are divided by their sum; those of cells outside are added to the
// cell at the edge.
// CHECK-LABEL: module @antialias
// CHECK: "onnx.Relu"
// CHECK: %[[SUM:.*]] = "onnx.ReduceSum"
// CHECK: %[[WEIGHTS:.*]] = "onnx.Div"(%{{.*}}, %[[SUM]])
// CHECK: "onnx.MatMul"(%[[WEIGHTS]]
module @antialias attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x8x8xf32>):
    %scales = onnx.initializer "scales" dense<[1.0, 1.0, 0.5, 0.5]> : tensor<4xf32> : tensor<4xf32>
    %none = onnx.absent
    %t = "onnx.Resize"(%x, %none, %scales) {mode = "linear", antialias = 1 : i64, onnx.name = "node", onnx.results = ["t"]} : (tensor<1x1x8x8xf32>, none, tensor<4xf32>) -> tensor<1x1x4x4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<1x1x4x4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
