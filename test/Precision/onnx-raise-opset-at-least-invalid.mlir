// RUN: mp-opt %s --onnx-raise-opset=at-least=18 --verify-diagnostics

module attributes {onnx.opset_import = [["", 10]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi32>):
    // expected-error@below {{node 'erf' (Erf-9): cannot be raised to opset 18: 'input' admits fewer types in Erf-13}}
    %0 = "onnx.Erf"(%x) {onnx.name = "erf"} : (tensor<4x4xi32>) -> tensor<4x4xi32>
    onnx.yield %0 : tensor<4x4xi32>
  }
}
