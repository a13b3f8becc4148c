// RUN: mp-opt %s --mp-select-parameters=loss=loss --mp-differentiate=loss=loss \
// RUN:   | FileCheck %s
// RUN: mp-opt %s --mp-differentiate="loss=loss wrt=x,h outputs=true" \
// RUN:   | FileCheck %s --check-prefix=WRT

// Parameters become inputs with defaults; the backward pass starts at a seed,
// and each gradient leaves it at a marker. Numbers and integers are none.
// CHECK-LABEL: module @net
// CHECK: ^bb0(%x: tensor<2x4xf32>, %b: tensor<4xf32>, %w1: tensor<4x4xf32>, %w2: tensor<4xf32>):
// CHECK: onnx.initializer "w1" dense<1.000000e+00> : tensor<4x4xf32> overridable
// CHECK: onnx.initializer "w2" dense<2.000000e+00> : tensor<4xf32> overridable
// CHECK: onnx.initializer "number" dense<3.000000e+00> : tensor<f32> : tensor<f32>
// CHECK: onnx.initializer "unused" dense<1.000000e+00> : tensor<4xf32> : tensor<4xf32>
// CHECK: onnx.initializer "b" dense<4.000000e+00> : tensor<4xf32> overridable
// CHECK: %loss = "onnx.ReduceSum"
// CHECK: %[[SEED:.*]] = mp.loss_seed %loss {onnx.results = ["loss_grad"]} : tensor<f32>
// CHECK: "onnx.com.microsoft.ReluGrad"
// CHECK: mp.gradient %{{.*}} of %w1 {onnx.results = ["w1_grad"]} : tensor<4x4xf32>, tensor<4x4xf32>
// CHECK: mp.gradient %{{.*}} of %w2 {onnx.results = ["w2_grad"]} : tensor<4xf32>, tensor<4xf32>
// CHECK: mp.gradient %{{.*}} of %b {onnx.results = ["b_grad"]} : tensor<4xf32>, tensor<4xf32>
// CHECK-NOT: mp.gradient
// CHECK: onnx.yield %loss, %aside : tensor<f32>, tensor<4xf32>

// Of an input and a value in the middle, as outputs; weights stay weights.
// WRT-LABEL: module @net
// WRT: ^bb0(%x: tensor<2x4xf32>, %b: tensor<4xf32>):
// WRT: onnx.initializer "w1" dense<1.000000e+00> : tensor<4x4xf32> : tensor<4x4xf32>
// WRT: %[[X:.*]] = mp.gradient %{{.*}} of %x {onnx.results = ["x_grad"]}
// WRT: %[[H:.*]] = mp.gradient %{{.*}} of %h {onnx.results = ["h_grad"]}
// WRT: onnx.yield %loss, %aside, %[[X]], %[[H]]

module @net attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %b: tensor<4xf32>):
    %w1 = onnx.initializer "w1" dense<1.0> : tensor<4x4xf32> : tensor<4x4xf32>
    %w2 = onnx.initializer "w2" dense<2.0> : tensor<4xf32> : tensor<4xf32>
    %number = onnx.initializer "number" dense<3.0> : tensor<f32> : tensor<f32>
    %unused = onnx.initializer "unused" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %b0 = onnx.initializer "b" dense<4.0> : tensor<4xf32> overridable : tensor<4xf32>
    %0 = "onnx.MatMul"(%x, %w1) {onnx.results = ["h"]} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = "onnx.Relu"(%0) {onnx.results = ["r"]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = "onnx.Mul"(%1, %w2) {onnx.results = ["m"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %3 = "onnx.Mul"(%2, %number) {onnx.results = ["n"]} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %4 = "onnx.Add"(%3, %b) {onnx.results = ["a"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %5 = "onnx.ReduceSum"(%4) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    %6 = "onnx.Neg"(%unused) {onnx.results = ["aside"]} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %5, %6 : tensor<f32>, tensor<4xf32> {onnx.inputs = [{name = "x"}, {name = "b"}], onnx.outputs = [{name = "loss"}, {name = "aside"}]}
  }
}
