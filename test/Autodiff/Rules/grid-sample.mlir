// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// Positions are marked, so that steps of mixed precision keep them fp32. What
// is sampled adds to the cells around it; one nearest cell has no weight.

// CHECK-LABEL: module @linear
// CHECK: "onnx.Floor"({{.*}}mp.shape_arithmetic
// CHECK: %[[WEIGHT:.*]] = "onnx.Where"({{.*}}mp.shape_arithmetic
// CHECK: "onnx.Mul"(%{{.*}}) {onnx.name
// CHECK: "onnx.com.microsoft.GatherGrad"
module @linear attributes {onnx.opset_import = [["", 20]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x2x4x4xf32>, %grid: tensor<1x3x3x2xf32>):
    %t = "onnx.GridSample"(%x, %grid) {onnx.name = "node", onnx.results = ["t"]} : (tensor<1x2x4x4xf32>, tensor<1x3x3x2xf32>) -> tensor<1x2x3x3xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<1x2x3x3xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "grid"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// CHECK-LABEL: module @nearest
// CHECK: "onnx.Round"({{.*}}mp.shape_arithmetic
// CHECK: %[[ROWS:.*]] = "onnx.Transpose"
// CHECK: %[[GRAD:.*]] = "onnx.Unsqueeze"(%[[ROWS]]
// CHECK-NOT: "onnx.Mul"
// CHECK: "onnx.com.microsoft.GatherGrad"(%{{.*}}, %{{.*}}, %[[GRAD]])
module @nearest attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x2x4x4xf32>, %grid: tensor<1x3x3x2xf32>):
    %t = "onnx.GridSample"(%x, %grid) {mode = "nearest", padding_mode = "border", onnx.name = "node", onnx.results = ["t"]} : (tensor<1x2x4x4xf32>, tensor<1x3x3x2xf32>) -> tensor<1x2x3x3xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<1x2x3x3xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "grid"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @rank attributes {onnx.opset_import = [["", 20]]} {
  onnx.graph {
  ^bb0(%x: tensor<*xf32>, %grid: tensor<*xf32>):
    // expected-error @below {{expected an image and a grid of known rank, the same of both and three or more}}
    %t = "onnx.GridSample"(%x, %grid) {onnx.name = "node", onnx.results = ["t"]} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<*xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "grid"}], onnx.outputs = [{name = "loss"}]}
  }
}
