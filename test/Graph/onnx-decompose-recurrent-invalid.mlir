// RUN: mp-opt %s --split-input-file --onnx-decompose-recurrent \
// RUN:   -verify-diagnostics

module @old attributes {onnx.opset_import = [["", 11]]} {
  onnx.graph {
  ^bb0(%x: tensor<7x3x2xf32>, %w: tensor<1x5x2xf32>, %r: tensor<1x5x5xf32>):
    // expected-error @below {{node 'cell' (RNN-7): expected opset 13 or newer, found 11}}
    %0 = "onnx.RNN"(%x, %w, %r) {onnx.name = "cell", onnx.results = ["y"]} : (tensor<7x3x2xf32>, tensor<1x5x2xf32>, tensor<1x5x5xf32>) -> tensor<7x1x3x5xf32>
    onnx.yield %0 : tensor<7x1x3x5xf32>
  }
}

// -----

module @direction attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<7x3x2xf32>, %w: tensor<1x5x2xf32>, %r: tensor<1x5x5xf32>):
    // expected-error @below {{node 'cell' (RNN-14): direction 'sideways' is unknown}}
    %0 = "onnx.RNN"(%x, %w, %r) {direction = "sideways", onnx.name = "cell", onnx.results = ["y"]} : (tensor<7x3x2xf32>, tensor<1x5x2xf32>, tensor<1x5x5xf32>) -> tensor<7x1x3x5xf32>
    onnx.yield %0 : tensor<7x1x3x5xf32>
  }
}

// -----

module @activation attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<7x3x2xf32>, %w: tensor<1x5x2xf32>, %r: tensor<1x5x5xf32>):
    // expected-error @below {{node 'cell' (RNN-14): activation 'Cosine' is unknown}}
    %0 = "onnx.RNN"(%x, %w, %r) {activations = ["Cosine"], onnx.name = "cell", onnx.results = ["y"]} : (tensor<7x3x2xf32>, tensor<1x5x2xf32>, tensor<1x5x5xf32>) -> tensor<7x1x3x5xf32>
    onnx.yield %0 : tensor<7x1x3x5xf32>
  }
}

// -----

module @activations attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<7x3x2xf32>, %w: tensor<1x5x2xf32>, %r: tensor<1x5x5xf32>):
    // expected-error @below {{node 'cell' (RNN-14): expected 1 activations, got 2}}
    %0 = "onnx.RNN"(%x, %w, %r) {activations = ["Tanh", "Relu"], onnx.name = "cell", onnx.results = ["y"]} : (tensor<7x3x2xf32>, tensor<1x5x2xf32>, tensor<1x5x5xf32>) -> tensor<7x1x3x5xf32>
    onnx.yield %0 : tensor<7x1x3x5xf32>
  }
}

// -----

module @type attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: !onnx.unknown, %w: tensor<1x5x2xf32>, %r: tensor<1x5x5xf32>):
    // expected-error @below {{node 'cell' (RNN-14): the type of its operand #0 is unknown}}
    %0 = "onnx.RNN"(%x, %w, %r) {onnx.name = "cell", onnx.results = ["y"]} : (!onnx.unknown, tensor<1x5x2xf32>, tensor<1x5x5xf32>) -> tensor<7x1x3x5xf32>
    onnx.yield %0 : tensor<7x1x3x5xf32>
  }
}
