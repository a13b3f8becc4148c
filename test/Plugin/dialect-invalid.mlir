// RUN: mlir-opt --load-dialect-plugin=%mp_plugin --verify-diagnostics %s
// REQUIRES: mlir-opt

// The dialect's verifier comes with the plugin, schemas included.

module attributes {onnx.opset_import = [["", 17]]} {
  func.func @boolean_relu(%x: tensor<2xi1>) -> tensor<2xi1> {
    // expected-error @below {{node 'r' (Relu-14): input #0 ('X')}}
    %0 = "onnx.Relu"(%x) {onnx.name = "r"} : (tensor<2xi1>) -> tensor<2xi1>
    return %0 : tensor<2xi1>
  }
}
