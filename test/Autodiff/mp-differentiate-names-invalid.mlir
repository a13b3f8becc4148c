// RUN: not mp-opt %s --mp-differentiate 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LOSS
// RUN: not mp-opt %s --mp-differentiate="loss=loss freeze=f freeze=b.*" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NOTHING
// RUN: not mp-opt %s --mp-differentiate="loss=loss freeze=f,(" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REGEX
// RUN: not mp-opt %s --mp-differentiate="loss=loss freeze=.*" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ALL
// RUN: not mp-opt %s --mp-differentiate="loss=loss wrt=q" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME
// RUN: not mp-opt %s --mp-differentiate="loss=loss wrt=integers" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=INTEGERS
// RUN: mp-opt %s --mp-differentiate="loss=loss freeze=f" | FileCheck %s

// LOSS: error: there is no loss to differentiate
// NOTHING: error: freeze pattern 'b.*' matches no parameter
// REGEX: error: freeze pattern '(': parentheses not balanced
// ALL: error: the loss 'loss' depends on no parameter
// NAME: error: 'q' cannot be differentiated with respect to: the graph has no value of this name
// INTEGERS: error: 'integers' cannot be differentiated with respect to: expected a float tensor, got 'tensor<4xi64>'

// What is frozen need not be finite.
// CHECK: mp.gradient %{{.*}} of %w
// CHECK-NOT: mp.gradient
module @frozen attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %f = onnx.initializer "f" dense<0x7FC00000> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Mul"(%x, %w) {onnx.results = ["m"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = "onnx.Mul"(%0, %f) {onnx.results = ["n"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.ReduceSum"(%1) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    %3 = "onnx.Cast"(%x) {to = 7 : i64, onnx.results = ["integers"]} : (tensor<4xf32>) -> tensor<4xi64>
    onnx.yield %2, %3 : tensor<f32>, tensor<4xi64> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}, {name = "integers"}]}
  }
}
