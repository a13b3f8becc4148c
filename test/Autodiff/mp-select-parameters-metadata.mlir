// RUN: mp-opt %s --split-input-file --mp-select-parameters=loss=loss | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-select-parameters="loss=loss train-only=b" \
// RUN:   | FileCheck %s --check-prefix=FLAG

// The model says what its parameters are.
// CHECK-LABEL: module @parameters
// CHECK-SAME: name = "b", reason = "not in metadata 'mp-opt.parameters'", role = "weight", state = "not a parameter"
// CHECK: mp.trained = ["a"]
// FLAG-LABEL: module @parameters
// FLAG: mp.trained = ["b"]
module @parameters attributes {onnx.model = {metadata_props = [{key = "mp-opt.parameters", value = "[\22a\22]"}]}, onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>):
    %a = onnx.initializer "a" dense<[[0.1, 0.5], [0.2, 0.6]]> : tensor<2x2xf32> : tensor<2x2xf32>
    %b = onnx.initializer "b" dense<[[0.3, 0.7], [0.4, 0.9]]> : tensor<2x2xf32> : tensor<2x2xf32>
    %0 = "onnx.MatMul"(%x, %a) {onnx.results = ["h"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = "onnx.MatMul"(%0, %b) {onnx.results = ["g"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = "onnx.ReduceSum"(%1) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x2xf32>) -> tensor<f32>
    onnx.yield %2 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// CHECK-LABEL: module @buffers
// CHECK: mp.trained = ["b"]
// FLAG-LABEL: module @buffers
// FLAG: mp.trained = ["b"]
module @buffers attributes {onnx.model = {metadata_props = [{key = "mp-opt.buffers", value = "[\22a\22]"}]}, onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>):
    %a = onnx.initializer "a" dense<[[0.1, 0.5], [0.2, 0.6]]> : tensor<2x2xf32> : tensor<2x2xf32>
    %b = onnx.initializer "b" dense<[[0.3, 0.7], [0.4, 0.9]]> : tensor<2x2xf32> : tensor<2x2xf32>
    %0 = "onnx.MatMul"(%x, %a) {onnx.results = ["h"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = "onnx.MatMul"(%0, %b) {onnx.results = ["g"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = "onnx.ReduceSum"(%1) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x2xf32>) -> tensor<f32>
    onnx.yield %2 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
