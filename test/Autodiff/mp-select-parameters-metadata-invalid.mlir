// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-select-parameters=loss=loss

module @another_model attributes {onnx.model = {metadata_props = [{key = "mp-opt.parameters", value = "[\22a\22, \22c\22]"}]}, onnx.opset_import = [["", 18]]} {
  // expected-error @below {{metadata 'mp-opt.parameters': the model has no initializer 'c'; did you mean 'a'?; it may be the list of another model}}
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

module @no_list attributes {onnx.model = {metadata_props = [{key = "mp-opt.buffers", value = "{\22a\22: 1}"}]}, onnx.opset_import = [["", 18]]} {
  // expected-error @below {{metadata 'mp-opt.buffers': expected a JSON array of names}}
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

module @numbers attributes {onnx.model = {metadata_props = [{key = "mp-opt.parameters", value = "[1]"}]}, onnx.opset_import = [["", 18]]} {
  // expected-error @below {{metadata 'mp-opt.parameters': expected a JSON array of names}}
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

module @no_json attributes {onnx.model = {metadata_props = [{key = "mp-opt.parameters", value = "a, b"}]}, onnx.opset_import = [["", 18]]} {
  // expected-error @below {{metadata 'mp-opt.parameters': expected a JSON array of names}}
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

module @contradiction attributes {onnx.model = {metadata_props = [{key = "mp-opt.parameters", value = "[\22a\22]"}, {key = "mp-opt.buffers", value = "[\22a\22]"}]}, onnx.opset_import = [["", 18]]} {
  // expected-error @below {{'a' is on two lists: metadata 'mp-opt.parameters' and metadata 'mp-opt.buffers'}}
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
