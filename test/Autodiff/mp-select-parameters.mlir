// RUN: mp-opt %s --split-input-file --mp-select-parameters=loss=loss | FileCheck %s

// A weight, a bias in a Constant, and the constants around them. Numbers of
// formulas and the mask stay what they are.
// CHECK-LABEL: module @roles
// CHECK-SAME: mp.parameters = [
// CHECK-SAME: name = "w", role = "weight", state = "trained"
// CHECK-SAME: name = "half", reason = "a number", role = "none", state = "not a parameter"
// CHECK-SAME: name = "cubic", reason = "a number"
// CHECK-SAME: name = "mask", reason = "a mask of large numbers"
// CHECK-SAME: name = "aside", reason = "the loss does not depend on it"
// CHECK-SAME: name = "b", role = "bias", state = "trained"
// CHECK: mp.trained = ["w", "b"]
// CHECK: ^bb0(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>, %b: tensor<4xf32>):
// CHECK: onnx.initializer "w" dense<1.000000e+00> : tensor<4x4xf32> overridable
// CHECK: onnx.initializer "b" dense<[1.000000e-01, 2.000000e-01, -3.000000e-01, 4.000000e-01]> : tensor<4xf32> overridable
// CHECK: "onnx.Add"(%h, %b)
module @roles attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4x4xf32> : tensor<4x4xf32>
    %half = onnx.initializer "half" dense<0.5> : tensor<f32> : tensor<f32>
    %cubic = onnx.initializer "cubic" dense<0.044715> : tensor<f32> : tensor<f32>
    %mask = onnx.initializer "mask" dense<[0.0, 0.0, 0.0, -10000.0]> : tensor<4xf32> : tensor<4xf32>
    %aside = onnx.initializer "aside" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %b = "onnx.Constant"() {value = dense<[0.1, 0.2, -0.3, 0.4]> : tensor<4xf32>, onnx.results = ["b"]} : () -> tensor<4xf32>
    %0 = "onnx.MatMul"(%x, %w) {onnx.results = ["h"]} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = "onnx.Add"(%0, %b) {onnx.results = ["a"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %2 = "onnx.Mul"(%1, %half) {onnx.results = ["m"]} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %c = "onnx.Mul"(%2, %cubic) {onnx.results = ["c"]} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %3 = "onnx.Add"(%c, %mask) {onnx.results = ["n"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %4 = "onnx.ReduceSum"(%3) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    onnx.yield %4 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// Ones that an exporter has merged: the norms get a scale each, and what is
// added to an error function stays. The scopes are those of node names.
// CHECK-LABEL: module @merged
// CHECK-SAME: name = "a.norm.weight", role = "scale", state = "trained"
// CHECK-SAME: name = "b.norm.weight", role = "scale", split_from = "a.norm.weight", state = "trained"
// CHECK-SAME: name = "a.norm.weight_constant", reason = "operand 'roi' of Resize takes no weight"
// CHECK: ^bb0(%x: tensor<1x4xf32>, %a.norm.weight: tensor<4xf32>, %b.norm.weight: tensor<4xf32>):
// CHECK: "onnx.Mul"(%x0s, %a.norm.weight)
// CHECK: "onnx.Mul"(%{{.*}}, %b.norm.weight)
// CHECK: "onnx.Resize"(%{{.*}}, %a.norm.weight_constant,
module @merged attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x4xf32>):
    %none = onnx.absent
    %sizes = onnx.initializer "sizes" dense<[1, 4]> : tensor<2xi64> : tensor<2xi64>
    %ones = onnx.initializer "a.norm.weight" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Relu"(%x) {onnx.results = ["x0"]} : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %s0 = "onnx.Sqrt"(%0) {onnx.results = ["x0s"]} : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %1 = "onnx.Mul"(%s0, %ones) {onnx.name = "/a/norm/Mul_1", onnx.results = ["x1"]} : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
    %2 = "onnx.Sqrt"(%1) {onnx.results = ["x2"]} : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %3 = "onnx.Mul"(%2, %ones) {onnx.name = "/b/norm/Mul_1", onnx.results = ["x3"]} : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
    %4 = "onnx.Resize"(%3, %ones, %none, %sizes) {onnx.results = ["x4"]} : (tensor<1x4xf32>, tensor<4xf32>, none, tensor<2xi64>) -> tensor<1x4xf32>
    %5 = "onnx.ReduceSum"(%4) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<1x4xf32>) -> tensor<f32>
    onnx.yield %5 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// A parameter that a branch yields is an outer value then, which no runtime
// takes: the branch yields a copy. Zeros of a branch are no parameter.
// CHECK-LABEL: module @yielded
// CHECK-SAME: name = "z", reason = "equal elements"
// CHECK: ^bb0(%x: tensor<1x4xf32>, %c: tensor<i1>, %w: tensor<1x4xf32>):
// CHECK: %[[COPY:.*]] = "onnx.Identity"(%w)
// CHECK: onnx.yield %[[COPY]]
module @yielded attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x4xf32>, %c: tensor<i1>):
    %0 = "onnx.If"(%c) ({
      %w = onnx.initializer "w" dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32> : tensor<1x4xf32>
      onnx.yield %w : tensor<1x4xf32>
    }, {
      %z = onnx.initializer "z" dense<0.0> : tensor<1x4xf32> : tensor<1x4xf32>
      onnx.yield %z : tensor<1x4xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["y"]} : (tensor<i1>) -> tensor<1x4xf32>
    %t = "onnx.Concat"(%0, %x) {axis = 0 : i64, onnx.results = ["t"]} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
    %2 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    onnx.yield %2 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "c"}], onnx.outputs = [{name = "loss"}]}
  }
}
