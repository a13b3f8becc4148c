// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// What is moved comes back.

// By the inverse.
// CHECK-LABEL: module @transpose
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: "onnx.Transpose"(%[[GRAD]]) {{.*}}perm = array<i64: 2, 0, 1>
module @transpose attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3x4xf32>):
    %t = "onnx.Transpose"(%x) {perm = array<i64: 1, 2, 0>, onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<3x4x2xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// Each part to its operand.
// CHECK-LABEL: module @concat
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[X:.*]], %{{.*}} = "onnx.Split"(%[[GRAD]], %{{.*}}) {axis = 0 : i64
// CHECK: mp.gradient %[[X]] of %x
module @concat attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>):
    %t = "onnx.Concat"(%x, %w) {axis = 0 : i64, onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<6x3xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @tile attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<*xf32>):
    %repeats = onnx.initializer "repeats" dense<[2, 1]> : tensor<2xi64> : tensor<2xi64>
    // expected-error @below {{the rank of its operand is unknown}}
    %t = "onnx.Tile"(%x, %repeats) {onnx.name = "node", onnx.results = ["t"]} : (tensor<*xf32>, tensor<2xi64>) -> tensor<*xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<*xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
