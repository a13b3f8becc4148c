// RUN: mp-opt %s --split-input-file --verify-diagnostics

onnx.graph {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{expected properties with the prefix 'onnx.' or 'mp.', got 'axis'}}
  %0 = "onnx.Softmax"(%x) <{axis = 1 : i64}> : (tensor<4xf32>) -> tensor<4xf32>
  onnx.yield %0 : tensor<4xf32>
}

// -----

onnx.graph {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{expected a dictionary of properties, got "name"}}
  %0 = "onnx.Softmax"(%x) <"name"> : (tensor<4xf32>) -> tensor<4xf32>
  onnx.yield %0 : tensor<4xf32>
}

// -----

onnx.graph {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{expected 'onnx.Softmax' in the generic form}}
  %0 = onnx.Softmax %x : tensor<4xf32>
  onnx.yield %0 : tensor<4xf32>
}
