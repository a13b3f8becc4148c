// RUN: mp-opt %s --split-input-file --mp-expand-training --verify-diagnostics

module @count attributes {onnx.opset_import = [["", 18], ["ai.onnx.preview.training", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4xf32>):
    %y = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %l = "onnx.ReduceSum"(%y) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    // expected-error @below {{node 'grad' (ai.onnx.preview.training.Gradient-1): expected an operand for each of the 1 names in xs and the 1 in zs, and no more results than xs, got 1 and 1}}
    %d = "onnx.ai.onnx.preview.training.Gradient"(%w) {onnx.name = "grad", onnx.results = ["dw"], xs = ["w"], y = "loss", zs = ["x"]} : (tensor<4xf32>) -> !onnx.unknown
    onnx.yield %d : !onnx.unknown {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "dw"}]}
  }
}

// -----

module @unknown_x attributes {onnx.opset_import = [["", 18], ["ai.onnx.preview.training", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4xf32>):
    %y = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %l = "onnx.ReduceSum"(%y) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    // expected-error @below {{node 'grad' (ai.onnx.preview.training.Gradient-1): it names 'q', which the model does not define}}
    %d = "onnx.ai.onnx.preview.training.Gradient"(%w, %x) {onnx.name = "grad", onnx.results = ["dw"], xs = ["q"], y = "loss", zs = ["x"]} : (tensor<4xf32>, tensor<2x4xf32>) -> !onnx.unknown
    onnx.yield %d : !onnx.unknown {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "dw"}]}
  }
}

// -----

module @unknown_y attributes {onnx.opset_import = [["", 18], ["ai.onnx.preview.training", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4xf32>):
    %y = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %l = "onnx.ReduceSum"(%y) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    // expected-error @below {{node 'grad' (ai.onnx.preview.training.Gradient-1): it names 'q', which the model does not define}}
    %d = "onnx.ai.onnx.preview.training.Gradient"(%w, %x) {onnx.name = "grad", onnx.results = ["dw"], xs = ["w"], y = "q", zs = ["x"]} : (tensor<4xf32>, tensor<2x4xf32>) -> !onnx.unknown
    onnx.yield %d : !onnx.unknown {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "dw"}]}
  }
}

// -----

module @no_scalar attributes {onnx.opset_import = [["", 18], ["ai.onnx.preview.training", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4xf32>):
    %y = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %l = "onnx.ReduceSum"(%y) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    // expected-error @below {{node 'grad' (ai.onnx.preview.training.Gradient-1): expected a scalar float to differentiate, got 'y' of type 'tensor<2x4xf32>'}}
    %d = "onnx.ai.onnx.preview.training.Gradient"(%w, %x) {onnx.name = "grad", onnx.results = ["dw"], xs = ["w"], y = "y", zs = ["x"]} : (tensor<4xf32>, tensor<2x4xf32>) -> !onnx.unknown
    onnx.yield %d : !onnx.unknown {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "dw"}]}
  }
}

// -----

module @integers attributes {onnx.opset_import = [["", 18], ["ai.onnx.preview.training", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %i: tensor<i64>):
    %y = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %l = "onnx.ReduceSum"(%y) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    // expected-error @below {{node 'grad' (ai.onnx.preview.training.Gradient-1): cannot differentiate with respect to 'i' of type 'tensor<i64>'}}
    %d = "onnx.ai.onnx.preview.training.Gradient"(%i, %x) {onnx.name = "grad", onnx.results = ["dw"], xs = ["i"], y = "loss", zs = ["x"]} : (tensor<i64>, tensor<2x4xf32>) -> !onnx.unknown
    onnx.yield %d : !onnx.unknown {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "i"}], onnx.outputs = [{name = "dw"}]}
  }
}

// -----

module @no_rule attributes {onnx.opset_import = [["", 18], ["ai.onnx.preview.training", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>, %w: tensor<2x2xf32>):
    %0 = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    // expected-error @below {{node 'volume' (Det-11): there is no gradient for this operator; it is on the path 'y' -> 'volume' to the loss}}
    %1 = "onnx.Det"(%0) {onnx.name = "volume", onnx.results = ["loss"]} : (tensor<2x2xf32>) -> tensor<f32>
    %d = "onnx.ai.onnx.preview.training.Gradient"(%w) {onnx.name = "grad", onnx.results = ["dw"], xs = ["w"], y = "loss"} : (tensor<2x2xf32>) -> !onnx.unknown
    onnx.yield %d : !onnx.unknown {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "dw"}]}
  }
}

// -----

// Two tensors, and one state for both.
module @tensors attributes {onnx.opset_import = [["", 18], ["ai.onnx.preview.training", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %r: tensor<f32>, %c: tensor<i64>):
    %y = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %l = "onnx.ReduceSum"(%y) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    // expected-error @below {{node 'opt' (ai.onnx.preview.training.Momentum-1): expected 2 operands and 3 for each tensor, and 2 results for each, got 7 and 2}}
    %n:2 = "onnx.ai.onnx.preview.training.Momentum"(%r, %c, %w, %w, %w, %w, %w) {alpha = 0.5 : f32, beta = 0.25 : f32, mode = "standard", norm_coefficient = 0.0 : f32, onnx.name = "opt", onnx.results = ["p", "q"]} : (tensor<f32>, tensor<i64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    onnx.yield %n#0, %n#1 : tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "r"}, {name = "c"}], onnx.outputs = [{name = "p"}, {name = "q"}]}
  }
}
