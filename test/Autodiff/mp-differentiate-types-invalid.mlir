// RUN: mp-opt %s --mp-differentiate="loss=loss wrt=a" -verify-diagnostics

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%a: tensor<3xf32>):
    // expected-error @below {{node 'r' (Relu-14): the type of its output #0 is unknown}}
    %0 = "onnx.Relu"(%a) {onnx.name = "r", onnx.results = ["y"]} : (tensor<3xf32>) -> !onnx.unknown
    %1 = "onnx.ReduceSum"(%0) {keepdims = 0 : i64, onnx.name = "s", onnx.results = ["loss"]} : (!onnx.unknown) -> tensor<f32>
    onnx.yield %1 : tensor<f32> {onnx.inputs = [{name = "a"}], onnx.outputs = [{name = "loss"}]}
  }
}
