// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-add-loss=loss=softmax-cross-entropy -o %t
// RUN: FileCheck %s --input-file=%t

// An input `labels` that is there already is what the loss is compared with,
// of 32 bits too.
// CHECK-LABEL: module @given
// CHECK: ^bb0(%x: tensor<?x4xf32>, %labels: tensor<?xi32>):
// CHECK: "onnx.SoftmaxCrossEntropyLoss"(%y, %labels)
// CHECK: onnx.yield %loss, %y
module @given attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>, %labels: tensor<?xi32>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["y"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    onnx.yield %0 : tensor<?x4xf32> {onnx.inputs = [{name = "x"}, {name = "labels"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A Softmax would be taken twice: the loss takes what was before it.
// CHECK-LABEL: module @softmax
// CHECK: "onnx.SoftmaxCrossEntropyLoss"(%x, %labels)
// CHECK: onnx.yield %loss, %y
module @softmax attributes {onnx.opset_import = [["", 18]]} {
  // expected-warning @below {{'y' is the result of a Softmax: the loss takes its operand}}
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>):
    %0 = "onnx.Softmax"(%x) {onnx.results = ["y"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    onnx.yield %0 : tensor<?x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// What has a name that is taken gets another.
// CHECK-LABEL: module @names
// CHECK: onnx.graph attributes {mp.loss = "loss_1"}
// CHECK: "onnx.SoftmaxCrossEntropyLoss"(%loss, %labels) {{.*}}onnx.results = ["loss_1"]
module @names attributes {onnx.opset_import = [["", 18]]} {
  // expected-warning @below {{the model has an input, a parameter or another output 'loss': the step's loss is 'loss_1', which mp-run train does not take}}
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["loss"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    onnx.yield %0 : tensor<?x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
