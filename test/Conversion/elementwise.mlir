// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// One loop nest each.

// Operands that are broadcast are read where they lie.
// CHECK-LABEL: mp.name = "wide"
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<3xf32>)
// CHECK: arith.addf
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%wide: tensor<2x3xf32>, %row: tensor<3xf32>):
    %0 = "onnx.Add"(%wide, %row) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    onnx.yield %0 : tensor<2x3xf32> {onnx.inputs = [{name = "wide"}, {name = "row"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// 16 bit is computed in fp32. Both parameters are the defaults of the schema.
// CHECK-LABEL: mp.name = "selu_x"
// CHECK: arith.extf
// CHECK: arith.constant 1.67326319 : f32
// CHECK: math.expm1
// CHECK: arith.constant 1.05070102 : f32
// CHECK: arith.truncf
module attributes {onnx.opset_import = [["", 22]]} {
  onnx.graph {
  ^bb0(%selu_x: tensor<4xbf16>):
    %0 = "onnx.Selu"(%selu_x) : (tensor<4xbf16>) -> tensor<4xbf16>
    onnx.yield %0 : tensor<4xbf16> {onnx.inputs = [{name = "selu_x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Selu-1 has others.
// CHECK-LABEL: mp.name = "selu_1_x"
// CHECK: arith.constant 1.673200e+00 : f32
// CHECK: arith.constant 1.050700e+00 : f32
module attributes {onnx.opset_import = [["", 5]]} {
  onnx.graph {
  ^bb0(%selu_1_x: tensor<4xf32>):
    %0 = "onnx.Selu"(%selu_1_x) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32> {onnx.inputs = [{name = "selu_1_x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Bounds are attributes up to opset 10; one that is left out bounds nothing.
// CHECK-LABEL: mp.name = "clipped"
// CHECK-NOT: arith.maximumf
// CHECK: arith.minimumf
module attributes {onnx.opset_import = [["", 10]]} {
  onnx.graph {
  ^bb0(%clipped: tensor<4xf32>):
    %0 = "onnx.Clip"(%clipped) {max = 1.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32> {onnx.inputs = [{name = "clipped"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 26]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    // expected-error @below {{expected types of one width, and not bool}}
    %0 = "onnx.BitCast"(%x) {to = 7 : i64} : (tensor<2x3xf32>) -> tensor<2x3xi64>
    onnx.yield %0 : tensor<2x3xi64> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
