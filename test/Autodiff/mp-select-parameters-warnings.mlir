// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-select-parameters=loss=loss

// A number that its author has named, and whose value no formula has.
module @number attributes {onnx.opset_import = [["", 18]]} {
  // expected-warning @below {{taken for parameters, in doubt: 'gate'; --freeze keeps what is a constant}}
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>):
    %a = onnx.initializer "a" dense<[[0.1, 0.5], [0.2, 0.6]]> : tensor<2x2xf32> : tensor<2x2xf32>
    %gate = onnx.initializer "gate" dense<0.7318241> : tensor<1xf32> : tensor<1xf32>
    %0 = "onnx.MatMul"(%x, %a) {onnx.results = ["h"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = "onnx.Mul"(%0, %gate) {onnx.results = ["g"]} : (tensor<2x2xf32>, tensor<1xf32>) -> tensor<2x2xf32>
    %2 = "onnx.ReduceSum"(%1) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x2xf32>) -> tensor<f32>
    onnx.yield %2 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @formula attributes {onnx.opset_import = [["", 18]]} {
  // expected-warning @below {{taken for constants, in doubt: 'scale'; --train-only names what is trained}}
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>):
    %a = onnx.initializer "a" dense<[[0.1, 0.5], [0.2, 0.6]]> : tensor<2x2xf32> : tensor<2x2xf32>
    %scale = onnx.initializer "scale" dense<0.125> : tensor<1xf32> : tensor<1xf32>
    %0 = "onnx.MatMul"(%x, %a) {onnx.results = ["h"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = "onnx.Mul"(%0, %scale) {onnx.results = ["g"]} : (tensor<2x2xf32>, tensor<1xf32>) -> tensor<2x2xf32>
    %2 = "onnx.ReduceSum"(%1) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x2xf32>) -> tensor<f32>
    onnx.yield %2 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// A head that an exporter has transposed and kept beside the embedding.
module @untied attributes {onnx.opset_import = [["", 18]]} {
  // expected-warning @below {{'table' and 'head' are trained apart from the same elements; --tie=table,head makes them one parameter}}
  onnx.graph {
  ^bb0(%ids: tensor<2xi64>):
    %table = onnx.initializer "table" dense<[[0.1, 0.5], [0.2, 0.6], [0.3, 0.7]]> : tensor<3x2xf32> : tensor<3x2xf32>
    %head = onnx.initializer "head" dense<[[0.1, 0.2, 0.3], [0.5, 0.6, 0.7]]> : tensor<2x3xf32> : tensor<2x3xf32>
    %0 = "onnx.Gather"(%table, %ids) {onnx.results = ["h"]} : (tensor<3x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
    %1 = "onnx.MatMul"(%0, %head) {onnx.results = ["g"]} : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %2 = "onnx.ReduceSum"(%1) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x3xf32>) -> tensor<f32>
    onnx.yield %2 : tensor<f32> {onnx.inputs = [{name = "ids"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @quantized attributes {onnx.opset_import = [["", 21]]} {
  // expected-warning @below {{quantized weights are not trained: 'w'}}
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>):
    %w = onnx.initializer "w" dense<[[1, 2], [3, -4]]> : tensor<2x2xi8> : tensor<2x2xi8>
    %scale = onnx.initializer "scale" dense<0.013> : tensor<f32> : tensor<f32>
    %b = onnx.initializer "b" dense<[0.1, 0.2]> : tensor<2xf32> : tensor<2xf32>
    %0 = "onnx.DequantizeLinear"(%w, %scale) {onnx.results = ["d"]} : (tensor<2x2xi8>, tensor<f32>) -> tensor<2x2xf32>
    %1 = "onnx.MatMul"(%x, %0) {onnx.results = ["h"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = "onnx.Add"(%1, %b) {onnx.results = ["g"]} : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %3 = "onnx.ReduceSum"(%2) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x2xf32>) -> tensor<f32>
    onnx.yield %3 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
