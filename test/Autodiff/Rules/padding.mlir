// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// Borders have no gradient of their own.

// Of a constant they are cut off.
// CHECK-LABEL: module @constant
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[X:.*]] = "onnx.Slice"(%[[GRAD]]
// CHECK: mp.gradient %[[X]] of %x
module @constant attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %pads = onnx.initializer "pads" dense<[0, 1, 0, 1]> : tensor<4xi64> : tensor<4xi64>
    %t = "onnx.Pad"(%x, %pads) {onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<2x5xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x5xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// Those of copies belong to what they are copies of: places are padded alike.
// CHECK-LABEL: module @reflect
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[PLACES:.*]] = "onnx.Pad"(%{{.*}}, %pads) {mode = "reflect"
// CHECK: "onnx.com.microsoft.GatherGrad"(%{{.*}}, %[[GRAD]])
module @reflect attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %pads = onnx.initializer "pads" dense<[0, 1, 0, 1]> : tensor<4xi64> : tensor<4xi64>
    %t = "onnx.Pad"(%x, %pads) {mode = "reflect", onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<2x5xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x5xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
