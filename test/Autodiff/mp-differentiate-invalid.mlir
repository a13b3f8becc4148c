// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=w"

module @opset attributes {onnx.opset_import = [["", 17]]} {
  // expected-error @below {{differentiation needs opset 18 or newer, got 17}}
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %0 = "onnx.ReduceSum"(%x) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @no_such_loss attributes {onnx.opset_import = [["", 18]]} {
  // expected-error @below {{loss 'loss': the graph has no value of this name}}
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %0 = "onnx.ReduceSum"(%x) {keepdims = 0 : i64, onnx.results = ["total"]} : (tensor<4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "total"}]}
  }
}

// -----

module @integer_loss attributes {onnx.opset_import = [["", 18]]} {
  // expected-error @below {{loss 'loss': expected a float tensor, got 'tensor<i64>'}}
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %0 = "onnx.Size"(%x) {onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<i64>
    onnx.yield %0 : tensor<i64> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @unknown_rank attributes {onnx.opset_import = [["", 18]]} {
  // expected-error @below {{loss 'loss': expected a scalar, got a tensor of unknown rank}}
  onnx.graph {
  ^bb0(%x: tensor<*xf32>):
    %0 = "onnx.Abs"(%x) {onnx.results = ["loss"]} : (tensor<*xf32>) -> tensor<*xf32>
    onnx.yield %0 : tensor<*xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @no_scalar attributes {onnx.opset_import = [["", 18]]} {
  // expected-error @below {{loss 'loss': expected a scalar, got 'tensor<4xf32>'}}
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %0 = "onnx.Abs"(%x) {onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @no_derivative attributes {onnx.opset_import = [["", 18]]} {
  // expected-error @below {{parameter 'w': the loss depends on it only through operators without a derivative}}
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %1 = "onnx.Shape"(%w) {onnx.results = ["s"]} : (tensor<4xf32>) -> tensor<1xi64>
    %2 = "onnx.Cast"(%1) {to = 1 : i64, onnx.results = ["c"]} : (tensor<1xi64>) -> tensor<1xf32>
    %0 = "onnx.ReduceSum"(%2) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<1xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
