// RUN: mp-opt %s --split-input-file --verify-diagnostics --convert-onnx-to-linalg

module attributes {onnx.opset_import = [["", 12]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x2x8xf32>):
    // expected-error @below {{'kernel_shape' has 2 numbers for an image of 3 axes}}
    %0 = "onnx.MaxPool"(%x) {kernel_shape = array<i64: 2, 2>} : (tensor<1x2x8xf32>) -> tensor<1x2x?xf32>
    onnx.yield %0 : tensor<1x2x?xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x6xf32>, %s: tensor<6xf32>):
    // expected-error @below {{axis 2 of a tensor with 2 axes}}
    %0 = "onnx.LayerNormalization"(%x, %s) {axis = 2 : i64} : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    onnx.yield %0 : tensor<4x6xf32> {onnx.inputs = [{name = "x"}, {name = "s"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 13]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x5xf32>, %t: tensor<4x2xi64>):
    // expected-error @below {{labels of 2 axes for scores of 2}}
    %0 = "onnx.SoftmaxCrossEntropyLoss"(%x, %t) : (tensor<4x5xf32>, tensor<4x2xi64>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "t"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 12]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>):
    // expected-error @below {{an axis of the sizes 3 and 4}}
    %0 = "onnx.Einsum"(%x, %y) {equation = "ij,jk"} : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<?x?xf32>
    onnx.yield %0 : tensor<?x?xf32> {onnx.inputs = [{name = "x"}, {name = "y"}], onnx.outputs = [{name = "z"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 12]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    // expected-error @below {{term 'ijk' for an operand of 2 axes}}
    %0 = "onnx.Einsum"(%x) {equation = "ijk"} : (tensor<2x3xf32>) -> tensor<?x?xf32>
    onnx.yield %0 : tensor<?x?xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "z"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 13]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x2x4xf32>):
    %none = onnx.absent
    %scales = onnx.initializer "scales" dense<[1.0, -2.0]> : tensor<2xf32> : tensor<2xf32>
    // expected-error @below {{2 scales for 3 axes}}
    %0 = "onnx.Resize"(%x, %none, %scales) : (tensor<1x2x4xf32>, none, tensor<2xf32>) -> tensor<1x2x?xf32>
    onnx.yield %0 : tensor<1x2x?xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 13]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %s: tensor<2x4xf32>):
    // expected-error @below {{operand #1 has 2 axes, expected 0 or 1}}
    %0 = "onnx.QuantizeLinear"(%x, %s) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xui8>
    onnx.yield %0 : tensor<2x4xui8> {onnx.inputs = [{name = "x"}, {name = "s"}], onnx.outputs = [{name = "y"}]}
  }
}
