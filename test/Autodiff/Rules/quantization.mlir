// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true"

// A pair of QuantizeLinear and DequantizeLinear passes the gradients of what it
// does not clip, if that is asked for (test_rules.py).

module @rounding attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %scale = onnx.initializer "scale" dense<0.1> : tensor<f32> : tensor<f32>
    %zero = onnx.initializer "zero" dense<0> : tensor<i8> : tensor<i8>
    %q = "onnx.QuantizeLinear"(%x, %scale, %zero) : (tensor<4xf32>, tensor<f32>, tensor<i8>) -> tensor<4xi8>
    // expected-error @below {{rounding has no gradient; --straight-through passes that of the result where nothing is clipped}}
    %t = "onnx.DequantizeLinear"(%q, %scale, %zero) {onnx.name = "node", onnx.results = ["t"]} : (tensor<4xi8>, tensor<f32>, tensor<i8>) -> tensor<4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
