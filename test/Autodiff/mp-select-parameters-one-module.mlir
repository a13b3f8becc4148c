// RUN: mp-opt %s --mp-select-parameters="loss=loss" | FileCheck %s

// A module that has others in it may use a parameter several times: the table
// does not say that it shares the parameter with itself.
// CHECK: name = "cell.w", role = "weight", state = "trained"
// CHECK-NOT: shared_by
module @net attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    %w1 = onnx.initializer "cell.w" dense<[[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.1, 1.2, 1.3], [1.4, 1.6, 1.7, 1.8]]> : tensor<4x4xf32> : tensor<4x4xf32>
    %w2 = onnx.initializer "cell.inner.w" dense<[[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.9], [0.9, 1.1, 1.2, 1.3], [1.4, 1.6, 1.7, 1.8]]> : tensor<4x4xf32> : tensor<4x4xf32>
    %0 = "onnx.MatMul"(%x, %w1) {onnx.name = "/cell/MatMul", onnx.results = ["h1"]} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = "onnx.MatMul"(%0, %w2) {onnx.name = "/cell/inner/MatMul", onnx.results = ["r"]} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %2 = "onnx.MatMul"(%1, %w1) {onnx.name = "/cell/MatMul_1", onnx.results = ["h2"]} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %8 = "onnx.ReduceSum"(%2) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    onnx.yield %8 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
