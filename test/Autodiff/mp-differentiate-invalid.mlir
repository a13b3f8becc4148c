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
    %shape = onnx.initializer "shape" dense<[1, 2, 2]> : tensor<3xi64> : tensor<3xi64>
    %1 = "onnx.Mul"(%x, %w) {onnx.name = "mul", onnx.results = ["m"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.Reshape"(%1, %shape) {onnx.name = "rows", onnx.results = ["f"]} : (tensor<4xf32>, tensor<3xi64>) -> tensor<1x2x2xf32>
    // expected-error @below {{node 'volume' (Det-11): there is no gradient for this operator; it is on the path 'mul' -> 'rows' -> 'volume' -> 'sum' to the loss; all parameters lie in front of it}}
    %3 = "onnx.Det"(%2) {onnx.name = "volume", onnx.results = ["t"]} : (tensor<1x2x2xf32>) -> tensor<1xf32>
    %0 = "onnx.ReduceSum"(%3) {keepdims = 0 : i64, onnx.name = "sum", onnx.results = ["loss"]} : (tensor<1xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// So does what to do next: modules are named where nothing else is in them.
module @freeze attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>):
    %a = onnx.initializer "net.body.0.weight" dense<1.0> : tensor<2x2xf32> : tensor<2x2xf32>
    %b = onnx.initializer "net.body.1.weight" dense<1.0> : tensor<2x2xf32> : tensor<2x2xf32>
    %c = onnx.initializer "net.scale" dense<1.0> : tensor<2xf32> : tensor<2xf32>
    %d = onnx.initializer "net.bias" dense<1.0> : tensor<1xf32> : tensor<1xf32>
    %1 = "onnx.MatMul"(%x, %a) {onnx.results = ["m"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = "onnx.MatMul"(%1, %b) {onnx.results = ["n"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = "onnx.Mul"(%2, %c) {onnx.results = ["s"]} : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    // expected-error @below {{; --freeze='net\.body\..*|net\.scale' trains the 1 of 4 parameters that do not lie in front of it}}
    %4 = "onnx.Det"(%3) {onnx.name = "volume", onnx.results = ["t"]} : (tensor<2x2xf32>) -> tensor<f32>
    %5 = "onnx.Add"(%4, %d) {onnx.results = ["u"]} : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
    %0 = "onnx.ReduceSum"(%5) {keepdims = 0 : i64, onnx.name = "sum", onnx.results = ["loss"]} : (tensor<1xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
