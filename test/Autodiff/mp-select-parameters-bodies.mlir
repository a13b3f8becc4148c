// RUN: mp-opt %s --mp-select-parameters=loss=loss | FileCheck %s

// A constant that a branch yields is trained: the branch yields a value of its
// own, since runtimes refuse one from outside.
// CHECK: mp.trained = ["bias"]
// CHECK: ^bb0(%c: tensor<i1>, %x: tensor<2x4xf32>, %bias: tensor<4xf32>):
// CHECK: "onnx.If"
// CHECK: %[[OWN:.*]] = "onnx.Identity"(%bias)
// CHECK-NEXT: onnx.yield %[[OWN]]
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%c: tensor<i1>, %x: tensor<2x4xf32>):
    %0 = "onnx.If"(%c) ({
      %b = "onnx.Constant"() {value = dense<[0.1, 0.2, -0.3, 0.4]> : tensor<4xf32>, onnx.results = ["bias"]} : () -> tensor<4xf32>
      onnx.yield %b : tensor<4xf32> {onnx.inputs = [], onnx.outputs = [{name = "bias"}]}
    }, {
      %m = "onnx.ReduceMean"(%x) {axes = array<i64: 0>, keepdims = 0 : i64, onnx.results = ["mean"]} : (tensor<2x4xf32>) -> tensor<4xf32>
      onnx.yield %m : tensor<4xf32> {onnx.inputs = [], onnx.outputs = [{name = "mean"}]}
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["b"]} : (tensor<i1>) -> tensor<4xf32>
    %1 = "onnx.Tanh"(%x) {onnx.results = ["t"]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = "onnx.Add"(%1, %0) {onnx.results = ["a"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %3 = "onnx.ReduceSum"(%2) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    onnx.yield %3 : tensor<f32> {onnx.inputs = [{name = "c"}, {name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
