// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// Fourier transforms are contractions with the roots of unity.

// Of known length, along the axis that is the default from opset 20 on: the
// roots are a table.
// CHECK-LABEL: mp.name = "signal"
// CHECK: %[[ROOTS:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<8x8x2x1xf32>)
// CHECK: math.cos
// CHECK: math.sin
// CHECK: kernel.contract {{.*}} ins(%{{.*}}, %[[ROOTS]] : tensor<1x8x1xf32>, tensor<8x8x2x1xf32>) outs(%{{.*}} : tensor<1x8x2xf32>)
module attributes {onnx.opset_import = [["", 20]]} {
  onnx.graph {
  ^bb0(%signal: tensor<1x8x1xf32>):
    %0 = "onnx.DFT"(%signal) : (tensor<1x8x1xf32>) -> tensor<1x8x2xf32>
    onnx.yield %0 : tensor<1x8x2xf32> {onnx.inputs = [{name = "signal"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 20]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x8x1xf32>):
    %axis = onnx.initializer "axis" dense<2> : tensor<i64> : tensor<i64>
    %none = onnx.absent
    // expected-error @below {{its axis is that of the parts of numbers}}
    %0 = "onnx.DFT"(%x, %none, %axis) : (tensor<1x8x1xf32>, none, tensor<i64>) -> tensor<1x8x2xf32>
    onnx.yield %0 : tensor<1x8x2xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
