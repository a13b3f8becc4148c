// RUN: mp-opt %s --split-input-file --verify-diagnostics --convert-onnx-to-linalg

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<5x3xf32>):
    %i = onnx.initializer "i" dense<5> : tensor<i64> : tensor<i64>
    // expected-error @below {{index 5 is out of range for size 5}}
    %0 = "onnx.Gather"(%x, %i) : (tensor<5x3xf32>, tensor<i64>) -> tensor<3xf32>
    onnx.yield %0 : tensor<3xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<5x3xf32>, %i: tensor<5x4xi64>):
    // expected-error @below {{size 4 of axis 1 of the indices, the tensor has 3}}
    %0 = "onnx.GatherElements"(%x, %i) : (tensor<5x3xf32>, tensor<5x4xi64>) -> tensor<5x4xf32>
    onnx.yield %0 : tensor<5x4xf32> {onnx.inputs = [{name = "x"}, {name = "i"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<5x3xf32>, %i: tensor<2x2xi64>, %u: tensor<3xf32>):
    // expected-error @below {{size 3 of axis 0 of the updates, expected 2}}
    %0 = "onnx.ScatterND"(%x, %i, %u) : (tensor<5x3xf32>, tensor<2x2xi64>, tensor<3xf32>) -> tensor<5x3xf32>
    onnx.yield %0 : tensor<5x3xf32> {onnx.inputs = [{name = "x"}, {name = "i"}, {name = "u"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<5xf32>):
    %k = onnx.initializer "k" dense<[6]> : tensor<1xi64> : tensor<1xi64>
    // expected-error @below {{found k = 6 for an axis of size 5}}
    %v, %i = "onnx.TopK"(%x, %k) : (tensor<5xf32>, tensor<1xi64>) -> (tensor<?xf32>, tensor<?xi64>)
    onnx.yield %v, %i : tensor<?xf32>, tensor<?xi64> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "v"}, {name = "i"}]}
  }
}
