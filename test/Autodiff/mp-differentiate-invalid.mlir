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

// -----

// The message names the way.
module @no_rule attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %step = onnx.initializer "frame_step" dense<2> : tensor<i64> : tensor<i64>
    %shape = onnx.initializer "shape" dense<[1, 4, 1]> : tensor<3xi64> : tensor<3xi64>
    %size = onnx.initializer "frame_length" dense<2> : tensor<i64> : tensor<i64>
    %none = onnx.absent
    %1 = "onnx.Mul"(%x, %w) {onnx.name = "mul", onnx.results = ["m"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.Reshape"(%1, %shape) {onnx.name = "frames", onnx.results = ["f"]} : (tensor<4xf32>, tensor<3xi64>) -> tensor<1x4x1xf32>
    // expected-error @below {{node 'window' (STFT-17): there is no gradient for this operator; it is on the path 'mul' -> 'frames' -> 'window' -> 'sum' to the loss}}
    %3 = "onnx.STFT"(%2, %step, %none, %size) {onnx.name = "window", onnx.results = ["t"]} : (tensor<1x4x1xf32>, tensor<i64>, none, tensor<i64>) -> tensor<1x2x2x2xf32>
    %0 = "onnx.ReduceSum"(%3) {keepdims = 0 : i64, onnx.name = "sum", onnx.results = ["loss"]} : (tensor<1x2x2x2xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
