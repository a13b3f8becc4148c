// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// Between floats and integers.

// Rounded to even first, then the zero point, then the range.
// CHECK-LABEL: mp.name = "quantized"
// CHECK: arith.divf
// CHECK: math.roundeven
// CHECK: arith.addf
// CHECK: arith.constant 2.550000e+02
// CHECK: arith.minimumf
// CHECK: arith.trunci %{{.*}} : i64 to i8
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%quantized: tensor<2x3xf32>, %scale: tensor<f32>, %zero: tensor<ui8>):
    %0 = "onnx.QuantizeLinear"(%quantized, %scale, %zero) : (tensor<2x3xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x3xui8>
    onnx.yield %0 : tensor<2x3xui8> {onnx.inputs = [{name = "quantized"}, {name = "scale"}, {name = "zero"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A scale of each index of the axis is read where it lies.
// CHECK-LABEL: mp.name = "dequantized"
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<2x3xi8>, tensor<3xf32>)
// CHECK: arith.sitofp
// CHECK: arith.mulf
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%dequantized: tensor<2x3xi8>, %scale: tensor<3xf32>):
    %0 = "onnx.DequantizeLinear"(%dequantized, %scale) {axis = 1 : i64} : (tensor<2x3xi8>, tensor<3xf32>) -> tensor<2x3xf32>
    onnx.yield %0 : tensor<2x3xf32> {onnx.inputs = [{name = "dequantized"}, {name = "scale"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Products of bytes are summed in 32 bits.
// CHECK-LABEL: mp.name = "product"
// CHECK: arith.extsi %{{.*}} : i8 to i32
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}}, %{{.*}} : tensor<2x3xi32>, tensor<3x4xi32>)
// CHECK: arith.muli
// CHECK: arith.addi
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%product: tensor<2x3xi8>, %b: tensor<3x4xi8>):
    %0 = "onnx.MatMulInteger"(%product, %b) : (tensor<2x3xi8>, tensor<3x4xi8>) -> tensor<2x4xi32>
    onnx.yield %0 : tensor<2x4xi32> {onnx.inputs = [{name = "product"}, {name = "b"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xi8>, %scale: tensor<3xf32>):
    // expected-error @below {{axis 2 of a tensor with 2 axes}}
    %0 = "onnx.DequantizeLinear"(%x, %scale) {axis = 2 : i64} : (tensor<2x3xi8>, tensor<3xf32>) -> tensor<2x3xf32>
    onnx.yield %0 : tensor<2x3xf32> {onnx.inputs = [{name = "x"}, {name = "scale"}], onnx.outputs = [{name = "y"}]}
  }
}
