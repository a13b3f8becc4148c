// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// Statistics, and each element relative to them.

// Along the last axis, which is the default from opset 13 on.
// CHECK-LABEL: mp.name = "softmax_x"
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK: arith.addf
// CHECK: arith.divf
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%softmax_x: tensor<2x3x4xf32>):
    %0 = "onnx.Softmax"(%softmax_x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    onnx.yield %0 : tensor<2x3x4xf32> {onnx.inputs = [{name = "softmax_x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Before, along all axes from the second one on.
// CHECK-LABEL: mp.name = "flat_x"
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "reduction"]}
// CHECK: arith.maximumf
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "reduction"]}
// CHECK: arith.divf
module attributes {onnx.opset_import = [["", 12]]} {
  onnx.graph {
  ^bb0(%flat_x: tensor<2x3x4xf32>):
    %0 = "onnx.Softmax"(%flat_x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    onnx.yield %0 : tensor<2x3x4xf32> {onnx.inputs = [{name = "flat_x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Statistics of 16-bit values are fp32; the epsilon is that of the schema.
// CHECK-LABEL: mp.name = "layer_x"
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x4xbf16>) outs(%{{.*}} : tensor<2xf32>)
// CHECK: arith.constant 9.99999974E-6 : f32
// CHECK: math.sqrt
// CHECK: arith.truncf
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%layer_x: tensor<2x4xbf16>, %scale: tensor<4xbf16>):
    %0 = "onnx.LayerNormalization"(%layer_x, %scale) {axis = -1 : i64} : (tensor<2x4xbf16>, tensor<4xbf16>) -> tensor<2x4xbf16>
    onnx.yield %0 : tensor<2x4xbf16> {onnx.inputs = [{name = "layer_x"}, {name = "scale"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// For inference they are operands.
// CHECK-LABEL: mp.name = "batch_x"
// CHECK-NOT: reduction
// CHECK: math.sqrt
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3x4xf32>)
// CHECK: arith.subf
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%batch_x: tensor<2x3x4xf32>, %scale: tensor<3xf32>, %bias: tensor<3xf32>, %mean: tensor<3xf32>, %var: tensor<3xf32>):
    %0 = "onnx.BatchNormalization"(%batch_x, %scale, %bias, %mean, %var) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
    onnx.yield %0 : tensor<2x3x4xf32> {onnx.inputs = [{name = "batch_x"}, {name = "scale"}, {name = "bias"}, {name = "mean"}, {name = "var"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %scale: tensor<4xf32>):
    // expected-error @below {{axis 2 of a tensor with 2 axes}}
    %0 = "onnx.LayerNormalization"(%x, %scale) {axis = 2 : i64} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    onnx.yield %0 : tensor<2x4xf32> {onnx.inputs = [{name = "x"}, {name = "scale"}], onnx.outputs = [{name = "y"}]}
  }
}
