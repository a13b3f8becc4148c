// RUN: mp-opt %s --split-input-file --verify-diagnostics --convert-onnx-to-linalg

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>):
    // expected-error @below {{size 4 of axis 1, other operands have 3}}
    %0 = "onnx.Concat"(%x, %y) {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x?xf32>
    onnx.yield %0 : tensor<4x?xf32> {onnx.inputs = [{name = "x"}, {name = "y"}], onnx.outputs = [{name = "z"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<6x4xf32>):
    %parts = onnx.initializer "parts" dense<[2, 5]> : tensor<2xi64> : tensor<2xi64>
    // expected-error @below {{the sizes of the parts add up to 7, expected 6}}
    %a, %b = "onnx.Split"(%x, %parts) {axis = 0 : i64} : (tensor<6x4xf32>, tensor<2xi64>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
    onnx.yield %a, %b : tensor<?x4xf32>, tensor<?x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "a"}, {name = "b"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<8x4xf32>):
    %starts = onnx.initializer "starts" dense<[0]> : tensor<1xi64> : tensor<1xi64>
    %ends = onnx.initializer "ends" dense<[2]> : tensor<1xi64> : tensor<1xi64>
    %axes = onnx.initializer "axes" dense<[0]> : tensor<1xi64> : tensor<1xi64>
    %steps = onnx.initializer "steps" dense<[0]> : tensor<1xi64> : tensor<1xi64>
    // expected-error @below {{a step is 0}}
    %0 = "onnx.Slice"(%x, %starts, %ends, %axes, %steps) : (tensor<8x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x4xf32>
    onnx.yield %0 : tensor<?x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %pads = onnx.initializer "pads" dense<[-3, -2]> : tensor<2xi64> : tensor<2xi64>
    // expected-error @below {{pads of axis 0 take away more than there is}}
    %0 = "onnx.Pad"(%x, %pads) : (tensor<4xf32>, tensor<2xi64>) -> tensor<?xf32>
    onnx.yield %0 : tensor<?xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %repeats = onnx.initializer "repeats" dense<[1, -1]> : tensor<2xi64> : tensor<2xi64>
    // expected-error @below {{found -1 repeats}}
    %0 = "onnx.Tile"(%x, %repeats) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x?xf32>
    onnx.yield %0 : tensor<2x?xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
