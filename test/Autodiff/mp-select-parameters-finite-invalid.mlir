// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-select-parameters="loss=loss train-only=w"

// No step would make these numbers again.
module @nan_weight attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
    // expected-error @below {{parameter 'w': its element [1, 0] is NaN, and would stay so}}
    %w = onnx.initializer "w" dense<[[1.0, 2.0], [0x7FC00000, 0x7F800000]]> : tensor<2x2xf32> : tensor<2x2xf32>
    %0 = "onnx.ReduceSum"(%w) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x2xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @infinite_weight attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
    // expected-error @below {{parameter 'w': its element [0, 1] is infinite, and would stay so}}
    %w = onnx.initializer "w" dense<[[1.0, 0xFFF0000000000000], [3.0, 4.0]]> : tensor<2x2xf64> : tensor<2x2xf64>
    %0 = "onnx.ReduceSum"(%w) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x2xf64>) -> tensor<f64>
    onnx.yield %0 : tensor<f64> {onnx.inputs = [], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @splat_weight attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
    // expected-error @below {{parameter 'w': its element [0, 0] is NaN, and would stay so}}
    %w = onnx.initializer "w" dense<0x7FC00000> : tensor<2x2xf32> : tensor<2x2xf32>
    %0 = "onnx.ReduceSum"(%w) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x2xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @mapped_weight attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
    // expected-error @below {{parameter 'w': its element [2] is infinite, and would stay so}}
    %w = onnx.initializer "w" dense_resource<mapped> : tensor<3xf32> : tensor<3xf32>
    %0 = "onnx.ReduceSum"(%w) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<3xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [], onnx.outputs = [{name = "loss"}]}
  }
}

{-#
  dialect_resources: {
    builtin: {
      mapped: "0x040000000000803F000080BF000080FF"
    }
  }
#-}
