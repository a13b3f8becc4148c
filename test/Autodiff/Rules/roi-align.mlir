// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// Products with matrices of weights, one for each region and axis, added to
// their images.

// CHECK-LABEL: module @mean
// CHECK: "onnx.Relu"
// CHECK: "onnx.MatMul"
// CHECK: "onnx.MatMul"
// CHECK: "onnx.com.microsoft.GatherGrad"(%{{.*}}, %batches
module @mean attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>, %rois: tensor<1x4xf32>):
    %batches = onnx.initializer "batches" dense<[0]> : tensor<1xi64> : tensor<1xi64>
    %t = "onnx.RoiAlign"(%x, %rois, %batches) {output_height = 2 : i64, output_width = 2 : i64, onnx.name = "node", onnx.results = ["t"]} : (tensor<1x1x4x4xf32>, tensor<1x4xf32>, tensor<1xi64>) -> tensor<1x1x2x2xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<1x1x2x2xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "rois"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @max attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>, %rois: tensor<1x4xf32>):
    %batches = onnx.initializer "batches" dense<[0]> : tensor<1xi64> : tensor<1xi64>
    // expected-error @below {{there is a gradient for mode 'avg' only}}
    %t = "onnx.RoiAlign"(%x, %rois, %batches) {mode = "max", output_height = 2 : i64, output_width = 2 : i64, onnx.name = "node", onnx.results = ["t"]} : (tensor<1x1x4x4xf32>, tensor<1x4xf32>, tensor<1xi64>) -> tensor<1x1x2x2xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<1x1x2x2xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "rois"}], onnx.outputs = [{name = "loss"}]}
  }
}
