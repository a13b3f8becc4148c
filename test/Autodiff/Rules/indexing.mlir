// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// Sums at the indices.

// CHECK-LABEL: module @gather
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[X:.*]] = "onnx.com.microsoft.GatherGrad"(%{{.*}}, %places, %[[GRAD]]) {axis = 0 : i64
// CHECK: mp.gradient %[[X]] of %x
module @gather attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<5x3xf32>):
    %places = onnx.initializer "places" dense<[1, 1]> : tensor<2xi64> : tensor<2xi64>
    %t = "onnx.Gather"(%x, %places) {onnx.name = "node", onnx.results = ["t"]} : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x3xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// CHECK-LABEL: module @gather_elements
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: "onnx.com.microsoft.GatherElementsGrad"(%[[GRAD]], %{{.*}}, %places) {axis = 1 : i64
module @gather_elements attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %places = onnx.initializer "places" dense<[[0], [2]]> : tensor<2x1xi64> : tensor<2x1xi64>
    %t = "onnx.GatherElements"(%x, %places) {axis = 1 : i64, onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>, tensor<2x1xi64>) -> tensor<2x1xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x1xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// The greatest share a gradient.
// CHECK-LABEL: module @scatter_max
// CHECK: "onnx.Equal"(%x, %t)
// CHECK: "onnx.ScatterElements"{{.*}}reduction = "add"
// CHECK: "onnx.Div"
// CHECK: "onnx.Where"
module @scatter_max attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>, %w: tensor<1xf32>):
    %places = onnx.initializer "places" dense<[1]> : tensor<1xi64> : tensor<1xi64>
    %t = "onnx.ScatterElements"(%x, %places, %w) {reduction = "max", onnx.name = "node", onnx.results = ["t"]} : (tensor<4xf32>, tensor<1xi64>, tensor<1xf32>) -> tensor<4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}]}
  }
}
