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

module @antialias attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x2x2xf32>):
    %scales = onnx.initializer "scales" dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32> : tensor<4xf32>
    %none = onnx.absent
    // expected-error @below {{there is no gradient for antialias}}
    %t = "onnx.Resize"(%x, %none, %scales) {mode = "linear", antialias = 1 : i64, onnx.name = "node", onnx.results = ["t"]} : (tensor<1x1x2x2xf32>, none, tensor<4xf32>) -> tensor<1x1x4x4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<1x1x4x4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
