// RUN: mp-opt %s --split-input-file --mp-add-loss=loss=nll:scores \
// RUN:   --verify-diagnostics
// RUN: not mp-opt %s --split-input-file --mp-add-loss=loss=msee 2>&1 \
// RUN:   | FileCheck %s --check-prefix=KIND
// RUN: not mp-opt %s --split-input-file --mp-add-loss=loss=output: 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAMELESS
// RUN: not mp-opt %s --split-input-file --mp-add-loss=loss=bce 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=FIRST,TARGET
// RUN: not mp-opt %s --split-input-file --mp-add-loss=loss=mse 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=TARGET
// RUN: not mp-opt %s --split-input-file \
// RUN:   --mp-add-loss="loss=softmax-cross-entropy class-axis=0" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BATCH

// RUN: not mp-opt %s --split-input-file --mp-add-loss 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NONE

// NONE: error: no loss is given: expected softmax-cross-entropy, nll,
// KIND: error: unknown loss 'msee': expected softmax-cross-entropy, nll, mse, l1, smooth-l1, huber, bce, bce-with-logits, kl-div, output:NAME; did you mean 'mse'?
// NAMELESS: error: unknown loss 'output:': expected softmax-cross-entropy

// An output that is named must be a float.
// FIRST: error: loss 'bce': the model has no float output
module @integers attributes {onnx.opset_import = [["", 18]]} {
  // expected-error @below {{loss 'nll:scores': expected a float tensor, got 'scores' of type 'tensor<?x4xi64>'}}
  onnx.graph {
  ^bb0(%x: tensor<?x4xi64>):
    %0 = "onnx.Abs"(%x) {onnx.results = ["scores"]} : (tensor<?x4xi64>) -> tensor<?x4xi64>
    onnx.yield %0 : tensor<?x4xi64> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "scores"}]}
  }
}

// -----

module @misspelled attributes {onnx.opset_import = [["", 18]]} {
  // expected-error @below {{loss 'nll:scores': the model has no output 'scores'; did you mean 'score'?}}
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>):
    %0 = "onnx.Abs"(%x) {onnx.results = ["score"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    onnx.yield %0 : tensor<?x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "score"}]}
  }
}

// -----

// TARGET: the rank of 'scores' is unknown
module @unknown_rank attributes {onnx.opset_import = [["", 18]]} {
  // expected-error @below {{loss 'nll:scores': the rank of 'scores' is unknown}}
  onnx.graph {
  ^bb0(%x: tensor<*xf32>):
    %0 = "onnx.Abs"(%x) {onnx.results = ["scores"]} : (tensor<*xf32>) -> tensor<*xf32>
    onnx.yield %0 : tensor<*xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "scores"}]}
  }
}

// -----

// Scores without an axis after the batch have no classes.
module @no_classes attributes {onnx.opset_import = [["", 18]]} {
  // expected-error @below {{loss 'nll:scores': 'scores' has rank 1, and no class axis 1 after the batch}}
  onnx.graph {
  ^bb0(%x: tensor<?xf32>):
    %0 = "onnx.Abs"(%x) {onnx.results = ["scores"]} : (tensor<?xf32>) -> tensor<?xf32>
    onnx.yield %0 : tensor<?xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "scores"}]}
  }
}

// -----

// The batch is no axis of classes; a target has the type of the output.
// BATCH: loss 'softmax-cross-entropy': 'scores' has rank 2, and no class axis 0 after the batch
// TARGET: expected labels of float, got input 'labels' of type 'tensor<?xf64>'
module @labels attributes {onnx.opset_import = [["", 18]]} {
  // expected-error @below {{loss 'nll:scores': expected labels of int64, got input 'labels' of type 'tensor<?xf64>'}}
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>, %labels: tensor<?xf64>):
    %0 = "onnx.Abs"(%x) {onnx.results = ["scores"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    onnx.yield %0 : tensor<?x4xf32> {onnx.inputs = [{name = "x"}, {name = "labels"}], onnx.outputs = [{name = "scores"}]}
  }
}
