// RUN: mp-opt %s | mp-opt - | FileCheck %s
// RUN: mp-opt %s --emit=bytecode | mp-opt - | FileCheck %s

// What passes tell each other is printed and read without loss.
// CHECK: mp.policy = #mp.policy<f16, {operators = {deny = {{\[\[}}"Gelu", "--deny"]]}, strict = true}>
// CHECK-SAME: mp.target = #mp.target<cpu, isa = avx512, products = dot, direct>
module attributes {mp.target = #mp.target<cpu, isa = avx512, products = dot, direct>, onnx.opset_import = [["", 17]], mp.policy = #mp.policy<f16, {operators = {deny = [["Gelu", "--deny"]]}, strict = true}>} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    // CHECK: mp.class = #mp.class<deny, reason = "user's list", requested_by = "--deny", denied_by = "\22quoted\22", builtin, override>
    %0 = "onnx.Relu"(%x) {mp.class = #mp.class<deny, override, builtin, denied_by = "\"quoted\"", requested_by = "--deny", reason = "user's list">} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: mp.class = #mp.class<follow, reason = "">
    // CHECK-SAME: mp.precision = #mp.precision<f32, variables = [f32, bf16, none], reason = "r">
    %1 = "onnx.Relu"(%0) {mp.class = #mp.class<follow>, mp.precision = #mp.precision<f32, variables = [f32, bf16, none], reason = "r">} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: mp.added, mp.clamp = -6.550400e+04 : f32, mp.composite = #mp.composite<"com.microsoft.SoftmaxGrad_13", 7>, mp.hazard = #mp.hazard<"h">, mp.shape_arithmetic
    %2 = "onnx.Relu"(%1) {mp.added, mp.clamp = -65504.0 : f32, mp.composite = #mp.composite<"com.microsoft.SoftmaxGrad_13", 7>, mp.hazard = #mp.hazard<"h">, mp.shape_arithmetic} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: mp.precision = #mp.precision<f32, reason = "{0} of '{1}'", values = [-3, "{0}"]>
    %3 = "onnx.Relu"(%2) {mp.precision = #mp.precision<f32, reason = "{0} of '{1}'", values = [-3, "{0}"]>} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %3 : tensor<4xf32>
  }
}
