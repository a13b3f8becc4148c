// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// Cells of an image at places that are operands.

// The nearest cell, or zero beyond the edge.
// CHECK-LABEL: mp.name = "image"
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x1x2x2xf32>)
// CHECK: tensor.extract %{{.*}} : tensor<1x2x2x2xf32>
// CHECK: math.roundeven
// CHECK: tensor.extract %{{.*}} : tensor<1x1x4x4xf32>
// CHECK: arith.select
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%image: tensor<1x1x4x4xf32>, %grid: tensor<1x2x2x2xf32>):
    %0 = "onnx.GridSample"(%image, %grid) {mode = "nearest"} : (tensor<1x1x4x4xf32>, tensor<1x2x2x2xf32>) -> tensor<1x1x2x2xf32>
    onnx.yield %0 : tensor<1x1x2x2xf32> {onnx.inputs = [{name = "image"}, {name = "grid"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A grid has the places of cells' middles, unless corners are aligned.
// CHECK-LABEL: mp.name = "theta"
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x2x2x2xf32>)
// CHECK: tensor.extract %{{.*}} : tensor<1x2x3xf32>
// CHECK: arith.divf
// CHECK: linalg.yield
module attributes {onnx.opset_import = [["", 20]]} {
  onnx.graph {
  ^bb0(%theta: tensor<1x2x3xf32>):
    %size = onnx.initializer "size" dense<[1, 1, 2, 2]> : tensor<4xi64> : tensor<4xi64>
    %0 = "onnx.AffineGrid"(%theta, %size) : (tensor<1x2x3xf32>, tensor<4xi64>) -> tensor<1x2x2x2xf32>
    onnx.yield %0 : tensor<1x2x2x2xf32> {onnx.inputs = [{name = "theta"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>, %grid: tensor<2x2xf32>):
    // expected-error @below {{a grid of 2 axes for an image of 4}}
    %0 = "onnx.GridSample"(%x, %grid) : (tensor<1x1x4x4xf32>, tensor<2x2xf32>) -> tensor<1x1x2x2xf32>
    onnx.yield %0 : tensor<1x1x2x2xf32> {onnx.inputs = [{name = "x"}, {name = "grid"}], onnx.outputs = [{name = "y"}]}
  }
}
