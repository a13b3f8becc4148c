// RUN: printf 'enc.w1 # first\n\nhead.w\n' > %t.list
// RUN: mp-opt %s --mp-select-parameters="loss=loss train-only=enc.*" \
// RUN:   | FileCheck %s --check-prefix=ONLY
// RUN: mp-opt %s --mp-select-parameters="loss=loss train-only=mask" \
// RUN:   | FileCheck %s --check-prefix=EXACT
// RUN: mp-opt %s --mp-select-parameters="loss=loss freeze=enc.w1 freeze=head.*" \
// RUN:   | FileCheck %s --check-prefix=FROZEN
// RUN: mp-opt %s --mp-select-parameters="loss=loss train-only=@%t.list" \
// RUN:   | FileCheck %s --check-prefix=FILE
// RUN: mp-opt %s --mp-select-parameters="loss=loss freeze=@%t.list" \
// RUN:   | FileCheck %s --check-prefix=FREEZEFILE
// RUN: mp-opt %s --mp-select-parameters="loss=loss untie=enc.w1" \
// RUN:   | FileCheck %s --check-prefix=UNTIE

// A pattern selects parameters.
// ONLY: name = "enc.w1", role = "weight", shared_by = ["a", "c"], state = "trained"
// ONLY-SAME: name = "head.w", reason = "not in train-only", role = "weight", state = "frozen"
// ONLY-SAME: name = "mask", reason = "a mask of large numbers"
// ONLY: mp.trained = ["enc.w1", "enc.w2"]

// What only it matches, it selects whatever its role is.
// EXACT: mp.trained = ["mask"]

// FROZEN: name = "head.w", reason = "in freeze", role = "weight", state = "frozen"
// FROZEN: mp.trained = ["enc.w2", "tail.w"]

// Lists are names, one a line.
// FILE: mp.trained = ["enc.w1", "head.w"]
// FREEZEFILE: mp.trained = ["enc.w2", "tail.w"]

// Each module gets a copy, named for it.
// UNTIE: name = "c.w1", role = "weight", split_from = "enc.w1", state = "trained"
// UNTIE: mp.trained = ["enc.w1", "c.w1", "enc.w2", "head.w", "tail.w"]
// UNTIE: "onnx.MatMul"(%h2, %c.w1)
module @net attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    %w1 = onnx.initializer "enc.w1" dense<[[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.1, 1.2, 1.3], [1.4, 1.6, 1.7, 1.8]]> : tensor<4x4xf32> : tensor<4x4xf32>
    %w2 = onnx.initializer "enc.w2" dense<[[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.1, 1.2, 1.3], [1.4, 1.6, 1.7, 1.8]]> : tensor<4x4xf32> : tensor<4x4xf32>
    %w3 = onnx.initializer "head.w" dense<[[0.1, 0.5], [0.2, 0.6], [0.3, 0.7], [0.4, 0.9]]> : tensor<4x2xf32> : tensor<4x2xf32>
    %w4 = onnx.initializer "tail.w" dense<[[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.9]]> : tensor<2x4xf32> : tensor<2x4xf32>
    %mask = onnx.initializer "mask" dense<[0.0, 0.0, 0.0, -10000.0]> : tensor<4xf32> : tensor<4xf32>
    %ids = onnx.initializer "ids" dense<[4, 2]> : tensor<2xi64> : tensor<2xi64>
    %aside = onnx.initializer "aside" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.MatMul"(%x, %w1) {onnx.name = "/a/MatMul", onnx.results = ["h1"]} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = "onnx.Relu"(%0) {onnx.results = ["r"]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = "onnx.MatMul"(%1, %w2) {onnx.name = "/b/MatMul", onnx.results = ["h2"]} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %3 = "onnx.MatMul"(%2, %w1) {onnx.name = "/c/MatMul", onnx.results = ["h3"]} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %4 = "onnx.Add"(%3, %mask) {onnx.results = ["m"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %5 = "onnx.MatMul"(%4, %w3) {onnx.name = "/head/MatMul", onnx.results = ["h4"]} : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
    %6 = "onnx.MatMul"(%5, %w4) {onnx.name = "/tail/MatMul", onnx.results = ["h5"]} : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %7 = "onnx.Gather"(%6, %ids) {onnx.results = ["g"]} : (tensor<2x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
    %8 = "onnx.ReduceSum"(%7) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    onnx.yield %8 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
