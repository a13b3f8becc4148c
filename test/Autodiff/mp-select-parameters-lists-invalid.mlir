// RUN: printf 'enc.w1\n' > %t.list
// RUN: printf 'enc.w3\n' > %t.misspelt
// RUN: printf '# nothing\n' > %t.empty
// RUN: not mp-opt %s --mp-select-parameters="loss=loss train-only=(" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REGEX
// RUN: not mp-opt %s --mp-select-parameters="loss=loss train-only=encoder.*" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NOTHING
// RUN: not mp-opt %s --mp-select-parameters="loss=loss train-only=ids" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=INTEGER
// RUN: not mp-opt %s --mp-select-parameters="loss=loss train-only=aside" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ASIDE
// RUN: not mp-opt %s --mp-select-parameters="loss=loss freeze=enc.w1 freeze=b.*" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FREEZE
// RUN: not mp-opt %s --mp-select-parameters="loss=loss freeze=.*" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ALL
// RUN: not mp-opt %s --mp-select-parameters="loss=loss train-only=@%t.misspelt" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NEAREST
// RUN: not mp-opt %s --mp-select-parameters="loss=loss freeze=@%t.misspelt" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NEARESTFREEZE
// RUN: not mp-opt %s --mp-select-parameters="loss=loss freeze=@%t.empty" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=EMPTY
// RUN: not mp-opt %s --mp-select-parameters="loss=loss freeze=@%t.none" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MISSING
// RUN: not mp-opt %s --mp-select-parameters="loss=loss train-only=@%t.list freeze=@%t.list" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BOTH
// RUN: not mp-opt %s --mp-select-parameters="loss=loss tie=enc.w1" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TIEONE
// RUN: not mp-opt %s --mp-select-parameters="loss=loss untie=head.w" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNTIE
// RUN: not mp-opt %s --mp-select-parameters="loss=loss untie=(" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNTIEREGEX

// REGEX: error: train-only pattern '(': parentheses not balanced
// NOTHING: error: train-only pattern 'encoder.*' matches no parameter
// INTEGER: error: train-only: expected a float tensor, 'ids' is 'tensor<2xi64>'
// ASIDE: error: train-only: 'aside': the loss does not depend on it
// FREEZE: error: freeze pattern 'b.*' matches no parameter
// ALL: error: the loss 'loss' depends on no parameter that is trained; candidates: 'enc.w1' (in freeze), 'enc.w2' (in freeze), 'head.w' (in freeze), 'tail.w' (in freeze), 'mask' (a mask of large numbers), 'aside' (the loss does not depend on it)
// NEAREST: error: train-only: the model has no initializer 'enc.w3'; did you mean 'enc.w1'?
// NEARESTFREEZE: error: freeze: the model has no initializer 'enc.w3'; did you mean 'enc.w1'?
// EMPTY: error: freeze: {{.*}}.empty: the list is empty
// MISSING: error: freeze: 
// BOTH: error: 'enc.w1' is on two lists: train-only and freeze
// TIEONE: error: tie 'enc.w1': expected two names or more, separated by commas
// UNTIE: error: untie pattern 'head.w' matches no parameter that modules share
// UNTIEREGEX: error: untie pattern '(': 

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
