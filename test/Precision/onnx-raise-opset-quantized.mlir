// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify --onnx-raise-opset | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify --onnx-raise-opset=keep-quantized-f32=true | FileCheck %s --check-prefix=KEPT
// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify --onnx-raise-opset | FileCheck %s --check-prefix=BF16
// KEPT-COUNT-4: onnx.opset_import = {{\[}}["", 13]]

// Pairs next to a product need 19, also through cheap nodes.
// CHECK: module @product attributes {{.*}}onnx.opset_import = {{\[}}["", 19]]
module @product attributes {onnx.opset_import = [["", 13]]} {
  onnx.graph {
  ^bb0(%f: tensor<4x4xf32>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %0 = "onnx.MatMul"(%f, %f) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Relu"(%0) {onnx.results = ["r"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.QuantizeLinear"(%1, %s) {onnx.results = ["q"]} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xui8>
    onnx.yield %2 : tensor<4x4xui8>
  }
}

// -----

// A pair around a denied node needs nothing.
// CHECK: module @denied attributes {{.*}}onnx.opset_import = {{\[}}["", 13]]
module @denied attributes {onnx.opset_import = [["", 13]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.Softmax"(%0) {onnx.results = ["p"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.QuantizeLinear"(%1, %s) {onnx.results = ["q"]} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xui8>
    onnx.yield %2 : tensor<4x4xui8>
  }
}

// -----

// A pair that stays fp32 for its scale needs nothing.
// CHECK: module @small_scale attributes {{.*}}onnx.opset_import = {{\[}}["", 13]]
module @small_scale attributes {onnx.opset_import = [["", 13]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>):
    %s = onnx.initializer "s" dense<1.0e-6> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%0, %0) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1 : tensor<4x4xf32>
  }
}

// -----

// Biases become constants.
// CHECK: module @bias attributes {{.*}}onnx.opset_import = {{\[}}["", 13]]
module @bias attributes {onnx.opset_import = [["", 13]]} {
  onnx.graph {
  ^bb0(%f: tensor<4x4xf32>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %n = onnx.initializer "n" dense<[1, 2, 3, 4]> : tensor<4xi32> : tensor<4xi32>
    %0 = "onnx.DequantizeLinear"(%n, %s) {onnx.results = ["d"]} : (tensor<4xi32>, tensor<f32>) -> tensor<4xf32>
    %1 = "onnx.Gemm"(%f, %f, %0) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    onnx.yield %1 : tensor<4x4xf32>
  }
}

// -----

// A product that stays fp32 with its pair needs nothing; another one does.
// BF16: module @kept attributes {{.*}}onnx.opset_import = {{\[}}["", 19]]
// BF16: module @free attributes {{.*}}onnx.opset_import = {{\[}}["", 22]]
module @kept attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xi8>, %s: tensor<f32>, %w: tensor<1x1x1x1xf32>):
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<1x1x4x4xi8>, tensor<f32>) -> tensor<1x1x4x4xf32>
    %1 = "onnx.Conv"(%0, %w) {onnx.results = ["c"]} : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
    onnx.yield %1 : tensor<1x1x4x4xf32>
  }
}

// -----

module @free attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xi8>, %w: tensor<1x1x1x1xf32>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<1x1x4x4xi8>, tensor<f32>) -> tensor<1x1x4x4xf32>
    %1 = "onnx.Conv"(%0, %w) {onnx.results = ["c"]} : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
    onnx.yield %1 : tensor<1x1x4x4xf32>
  }
}
