// RUN: mp-opt %s --split-input-file --mp-select-parameters=loss=loss | FileCheck %s

// Weights in 16 bit and float64 get fp32 masters, cast where they are used.
// CHECK-LABEL: module @masters
// CHECK-SAME: name = "w", role = "weight", state = "trained", type = "float16"
// CHECK-SAME: name = "d", role = "weight", state = "trained", type = "double"
// CHECK: ^bb0(%x: tensor<2x2xf16>, %w: tensor<2x2xf32>, %d: tensor<2x2xf32>):
// CHECK: onnx.initializer "w" dense<{{\[}}[5.000000e-01, 2.500000e-01], [1.250000e-01, 1.000000e+00]]> : tensor<2x2xf32> overridable
// CHECK: %[[W:.*]] = "onnx.Cast"(%w) {{.*}} : (tensor<2x2xf32>) -> tensor<2x2xf16>
// CHECK: %[[D:.*]] = "onnx.Cast"(%d) {{.*}} : (tensor<2x2xf32>) -> tensor<2x2xf64>
// CHECK: "onnx.MatMul"(%x, %[[W]])
// CHECK: "onnx.MatMul"(%{{.*}}, %[[D]])
module @masters attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf16>, %w: tensor<2x2xf16>):
    %v = onnx.initializer "w" dense<[[0.5, 0.25], [0.125, 1.0]]> : tensor<2x2xf16> overridable : tensor<2x2xf16>
    %d = onnx.initializer "d" dense<[[0.1, 0.5], [0.2, 0.6]]> : tensor<2x2xf64> : tensor<2x2xf64>
    %0 = "onnx.MatMul"(%x, %w) {onnx.results = ["h"]} : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16>
    %1 = "onnx.Cast"(%0) {to = 11 : i64, onnx.results = ["c"]} : (tensor<2x2xf16>) -> tensor<2x2xf64>
    %2 = "onnx.MatMul"(%1, %d) {onnx.results = ["g"]} : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
    %3 = "onnx.ReduceSum"(%2) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x2xf64>) -> tensor<f64>
    onnx.yield %3 : tensor<f64> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// A Constant in a branch is a weight of the main graph, behind Transpose or not.
// CHECK-LABEL: module @branch
// CHECK: mp.trained = ["inner"]
// CHECK: ^bb0(%x: tensor<2x2xf32>, %c: tensor<i1>, %inner: tensor<2x2xf32>):
// CHECK: "onnx.If"(%c)
// CHECK: "onnx.Transpose"(%inner)
module @branch attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>, %c: tensor<i1>):
    %0 = "onnx.If"(%c) ({
      %w = "onnx.Constant"() {value = dense<[[0.1, 0.5], [0.2, 0.6]]> : tensor<2x2xf32>, onnx.results = ["inner"]} : () -> tensor<2x2xf32>
      %t = "onnx.Transpose"(%w) {onnx.results = ["t"]} : (tensor<2x2xf32>) -> tensor<2x2xf32>
      %1 = "onnx.MatMul"(%x, %t) {onnx.results = ["p"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      onnx.yield %1 : tensor<2x2xf32> {onnx.inputs = [], onnx.outputs = [{name = "p"}]}
    }, {
      %1 = "onnx.Neg"(%x) {onnx.results = ["q"]} : (tensor<2x2xf32>) -> tensor<2x2xf32>
      onnx.yield %1 : tensor<2x2xf32> {onnx.inputs = [], onnx.outputs = [{name = "q"}]}
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["y"]} : (tensor<i1>) -> tensor<2x2xf32>
    %2 = "onnx.ReduceSum"(%0) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x2xf32>) -> tensor<f32>
    onnx.yield %2 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "c"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// Branches may use a name twice; their parameters have two.
// CHECK-LABEL: module @twice
// CHECK-SAME: name = "inner_1", role = "weight"
// CHECK-SAME: name = "inner_2", role = "weight"
// CHECK: mp.trained = ["inner_1", "inner_2"]
// CHECK: ^bb0(%x: tensor<2x2xf32>, %c: tensor<i1>, %inner_1: tensor<2x2xf32>, %inner_2: tensor<2x2xf32>):
// CHECK: "onnx.If"(%c)
// CHECK: "onnx.Transpose"(%inner_1)
// CHECK: "onnx.MatMul"(%x, %inner_2)
module @twice attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>, %c: tensor<i1>):
    %0 = "onnx.If"(%c) ({
      %w = "onnx.Constant"() {value = dense<[[0.1, 0.5], [0.2, 0.6]]> : tensor<2x2xf32>, onnx.results = ["inner"]} : () -> tensor<2x2xf32>
      %t = "onnx.Transpose"(%w) {onnx.results = ["t"]} : (tensor<2x2xf32>) -> tensor<2x2xf32>
      %1 = "onnx.MatMul"(%x, %t) {onnx.results = ["p"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      onnx.yield %1 : tensor<2x2xf32> {onnx.inputs = [], onnx.outputs = [{name = "p"}]}
    }, {
      %w = "onnx.Constant"() {value = dense<[[0.3, 0.5], [0.2, 0.7]]> : tensor<2x2xf32>, onnx.results = ["inner"]} : () -> tensor<2x2xf32>
      %1 = "onnx.MatMul"(%x, %w) {onnx.results = ["q"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      onnx.yield %1 : tensor<2x2xf32> {onnx.inputs = [], onnx.outputs = [{name = "q"}]}
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["y"]} : (tensor<i1>) -> tensor<2x2xf32>
    %2 = "onnx.ReduceSum"(%0) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x2xf32>) -> tensor<f32>
    onnx.yield %2 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "c"}], onnx.outputs = [{name = "loss"}]}
  }
}
