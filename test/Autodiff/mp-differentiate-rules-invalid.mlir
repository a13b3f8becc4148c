// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate=loss=loss

// The message names the way.
module @no_rule attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph attributes {mp.trained = ["w"]} {
  ^bb0(%x: tensor<4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %shape = onnx.initializer "shape" dense<[1, 2, 2]> : tensor<3xi64> : tensor<3xi64>
    %1 = "onnx.Mul"(%x, %w) {onnx.name = "mul", onnx.results = ["m"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.Reshape"(%1, %shape) {onnx.name = "rows", onnx.results = ["f"]} : (tensor<4xf32>, tensor<3xi64>) -> tensor<1x2x2xf32>
    // expected-error @below {{node 'volume' (Det-11): there is no gradient for this operator; it is on the path 'mul' -> 'rows' -> 'volume' -> 'sum' to the loss; all parameters come before it}}
    %3 = "onnx.Det"(%2) {onnx.name = "volume", onnx.results = ["t"]} : (tensor<1x2x2xf32>) -> tensor<1xf32>
    %0 = "onnx.ReduceSum"(%3) {keepdims = 0 : i64, onnx.name = "sum", onnx.results = ["loss"]} : (tensor<1xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// One flag gets past all nodes without a gradient.
module @two attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph attributes {mp.trained = ["a.w", "b.w", "c.w"]} {
  ^bb0(%x: tensor<2x2xf32>):
    %a = onnx.initializer "a.w" dense<1.0> : tensor<2x2xf32> : tensor<2x2xf32>
    %b = onnx.initializer "b.w" dense<1.0> : tensor<2x2xf32> : tensor<2x2xf32>
    %c = onnx.initializer "c.w" dense<1.0> : tensor<f32> : tensor<f32>
    %1 = "onnx.Mul"(%x, %a) {onnx.results = ["m"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = "onnx.Det"(%1) {onnx.name = "first", onnx.results = ["n"]} : (tensor<2x2xf32>) -> tensor<f32>
    %3 = "onnx.Mul"(%x, %b) {onnx.results = ["s"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    // expected-error @below {{; --freeze='a\..*|b\..*' trains the 1 of 3 parameters that do not come before one of 2 nodes without a gradient; untrained then: 'a.w', 'b.w'}}
    %4 = "onnx.Det"(%3) {onnx.name = "second", onnx.results = ["t"]} : (tensor<2x2xf32>) -> tensor<f32>
    %5 = "onnx.Sum"(%2, %4, %c) {onnx.results = ["loss"]} : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
    onnx.yield %5 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// So does what to do next: modules are named where nothing else is in them.
module @freeze attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph attributes {mp.trained = ["net.body.0.weight", "net.body.1.weight", "net.scale", "net.bias"]} {
  ^bb0(%x: tensor<2x2xf32>):
    %a = onnx.initializer "net.body.0.weight" dense<1.0> : tensor<2x2xf32> : tensor<2x2xf32>
    %b = onnx.initializer "net.body.1.weight" dense<1.0> : tensor<2x2xf32> : tensor<2x2xf32>
    %c = onnx.initializer "net.scale" dense<1.0> : tensor<2xf32> : tensor<2xf32>
    %d = onnx.initializer "net.bias" dense<1.0> : tensor<1xf32> : tensor<1xf32>
    %1 = "onnx.MatMul"(%x, %a) {onnx.results = ["m"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = "onnx.MatMul"(%1, %b) {onnx.results = ["n"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = "onnx.Mul"(%2, %c) {onnx.results = ["s"]} : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    // expected-error @below {{; --freeze='net\.body\..*|net\.scale' trains the 1 of 4 parameters that do not come before it; untrained then: 'net.body.0.weight', 'net.body.1.weight', 'net.scale'}}
    %4 = "onnx.Det"(%3) {onnx.name = "volume", onnx.results = ["t"]} : (tensor<2x2xf32>) -> tensor<f32>
    %5 = "onnx.Add"(%4, %d) {onnx.results = ["u"]} : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
    %0 = "onnx.ReduceSum"(%5) {keepdims = 0 : i64, onnx.name = "sum", onnx.results = ["loss"]} : (tensor<1xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
