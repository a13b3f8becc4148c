// RUN: mp-opt %s --mp-add-loss=loss=bce:p 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: mp-opt %s --mp-add-loss=loss=bce:y 2>&1 | FileCheck %s --check-prefix=LOGITS
// RUN: mp-opt %s --mp-add-loss=loss=bce-with-logits:p 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: mp-opt %s --mp-add-loss=loss=kl-div:q:0 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: mp-opt %s --mp-add-loss=loss=nll:q:0 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: mp-opt %s --mp-add-loss=loss=bce-with-logits:y 2>&1 | FileCheck %s --check-prefix=QUIET

// Which activation a loss has within it, and which one the model must have.
// TAKEN: warning: 'p' is the result of a Sigmoid: the loss takes its operand
// TAKEN: %loss_Abs = "onnx.Abs"(%y)
// LOGITS: warning: 'y' is not the result of a Sigmoid: the loss takes it for logits, as 'bce-with-logits' does
// LOGITS: %loss_Abs = "onnx.Abs"(%y)
// TWICE: warning: 'p' is the result of a Sigmoid, and the loss applies another one; 'bce' takes probabilities
// TWICE: %loss_Abs = "onnx.Abs"(%p)
// PLAIN: warning: 'q:0' is the result of a Softmax, and the loss expects logarithms of probabilities
// QUIET-NOT: warning
module @net attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["y"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = "onnx.Sigmoid"(%0) {onnx.results = ["p"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = "onnx.Softmax"(%0) {onnx.results = ["q:0"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = "onnx.ReduceSum"(%x) {keepdims = 0 : i64, onnx.results = ["total"]} : (tensor<?x4xf32>) -> tensor<f32>
    onnx.yield %0, %1, %2, %3 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}, {name = "p"}, {name = "q:0"}, {name = "total"}]}
  }
}
