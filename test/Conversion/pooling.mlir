// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// Small windows are one operand for each of their cells (windows.mlir has
// more).

// Of an image whose sizes are known, without pads: four views, and their
// greatest.
// CHECK-LABEL: mp.name = "greatest"
// CHECK-COUNT-4: tensor.extract_slice
// CHECK: linalg.generic
// CHECK-COUNT-3: arith.cmpf ogt
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%greatest: tensor<1x1x4x4xf32>):
    %0 = "onnx.MaxPool"(%greatest) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
    onnx.yield %0 : tensor<1x1x2x2xf32> {onnx.inputs = [{name = "greatest"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Or their sum, divided by the cells that count.
// CHECK-LABEL: mp.name = "means"
// CHECK-COUNT-4: tensor.extract_slice
// CHECK: linalg.generic
// CHECK-COUNT-3: arith.addf
// CHECK: arith.divf
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%means: tensor<1x1x4x4xf32>):
    %0 = "onnx.AveragePool"(%means) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
    onnx.yield %0 : tensor<1x1x2x2xf32> {onnx.inputs = [{name = "means"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A global one is a reduction.
// CHECK-LABEL: mp.name = "global"
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
// CHECK: arith.divf
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%global: tensor<1x2x4x4xf32>):
    %0 = "onnx.GlobalAveragePool"(%global) : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
    onnx.yield %0 : tensor<1x2x1x1xf32> {onnx.inputs = [{name = "global"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>):
    // expected-error @below {{a window of 5 cells in an image of 4}}
    %0 = "onnx.MaxPool"(%x) {kernel_shape = array<i64: 5, 5>} : (tensor<1x1x4x4xf32>) -> tensor<1x1x?x?xf32>
    onnx.yield %0 : tensor<1x1x?x?xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
