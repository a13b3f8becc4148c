// RUN: mp-opt %s --split-input-file --verify-diagnostics --convert-onnx-to-linalg

module attributes {onnx.opset_import = [["", 11]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x4x9xf32>, %w: tensor<6x3x3xf32>):
    // expected-error @below {{4 channels, expected 3}}
    %0 = "onnx.Conv"(%x, %w) : (tensor<1x4x9xf32>, tensor<6x3x3xf32>) -> tensor<1x6x7xf32>
    onnx.yield %0 : tensor<1x6x7xf32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 11]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>):
    // expected-error @below {{4 groups of 6 channels}}
    %0 = "onnx.Conv"(%x, %w) {group = 4 : i64} : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32>
    onnx.yield %0 : tensor<1x6x7xf32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 11]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x4x2xf32>, %w: tensor<6x4x3xf32>):
    // expected-error @below {{a window of 3 cells in an image of 2}}
    %0 = "onnx.Conv"(%x, %w) : (tensor<1x4x2xf32>, tensor<6x4x3xf32>) -> tensor<1x6x?xf32>
    onnx.yield %0 : tensor<1x6x?xf32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 11]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>):
    // expected-error @below {{'pads' has 1 numbers, expected 2}}
    %0 = "onnx.Conv"(%x, %w) {pads = array<i64: 1>} : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x?xf32>
    onnx.yield %0 : tensor<1x6x?xf32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 11]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x4xf32>, %w: tensor<6x4xf32>):
    // expected-error @below {{an image of 2 axes and a weight of 2, expected the same number of at least 3}}
    %0 = "onnx.Conv"(%x, %w) : (tensor<1x4xf32>, tensor<6x4xf32>) -> tensor<1x6xf32>
    onnx.yield %0 : tensor<1x6xf32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}
