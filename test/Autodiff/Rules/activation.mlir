// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// Slopes, from the operand or from the result.

// By an operator of the training vocabulary, with the slope that is the
// default.
// CHECK-LABEL: module @leaky_relu
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[X:.*]] = "onnx.com.microsoft.LeakyReluGrad"(%[[GRAD]], %t) {alpha = 0.00999999977 : f32
// CHECK: mp.gradient %[[X]] of %x
module @leaky_relu attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %t = "onnx.LeakyRelu"(%x) {onnx.name = "node", onnx.results = ["t"]} : (tensor<4xf32>) -> tensor<4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// By standard ones: the slope is 1 above zero.
// CHECK-LABEL: module @elu
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[ABOVE:.*]] = "onnx.Greater"(%x
// CHECK: %[[LOW:.*]] = "onnx.Mul"(%[[GRAD]]
// CHECK: %[[X:.*]] = "onnx.Where"(%[[ABOVE]], %[[GRAD]], %[[LOW]])
// CHECK: mp.gradient %[[X]] of %x
module @elu attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %t = "onnx.Elu"(%x) {alpha = 2.0 : f32, onnx.name = "node", onnx.results = ["t"]} : (tensor<4xf32>) -> tensor<4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
