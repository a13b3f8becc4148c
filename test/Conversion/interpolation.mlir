// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// Resize, Upsample and CropAndResize.

// The cell that each index of an axis takes is found once for the axis.
// CHECK-LABEL: mp.name = "nearest"
// CHECK: %[[ROWS:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4xi64>)
// CHECK: %[[COLUMNS:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4xi64>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x1x4x4xf32>)
// CHECK: tensor.extract %[[ROWS]]
// CHECK: tensor.extract %[[COLUMNS]]
// CHECK: tensor.extract %{{.*}} : tensor<1x1x2x2xf32>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%nearest: tensor<1x1x2x2xf32>):
    %scales = onnx.initializer "scales" dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32> : tensor<4xf32>
    %none = onnx.absent
    %0 = "onnx.Resize"(%nearest, %none, %scales) {mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"} : (tensor<1x1x2x2xf32>, none, tensor<4xf32>) -> tensor<1x1x4x4xf32>
    onnx.yield %0 : tensor<1x1x4x4xf32> {onnx.inputs = [{name = "nearest"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// What keeps its sizes is the operand.
// CHECK-LABEL: mp.name = "same"
// CHECK-NOT: linalg.generic
// CHECK: return %arg0
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%same: tensor<1x1x2x2xf32>):
    %scales = onnx.initializer "scales" dense<[1.0, 1.0, 1.0, 1.0]> : tensor<4xf32> : tensor<4xf32>
    %none = onnx.absent
    %0 = "onnx.Resize"(%same, %none, %scales) {mode = "linear"} : (tensor<1x1x2x2xf32>, none, tensor<4xf32>) -> tensor<1x1x2x2xf32>
    onnx.yield %0 : tensor<1x1x2x2xf32> {onnx.inputs = [{name = "same"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Up to opset 8 scales are an attribute.
// CHECK-LABEL: mp.name = "upsampled"
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<4xi64>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x1x4x4xf32>)
module attributes {onnx.opset_import = [["", 7]]} {
  onnx.graph {
  ^bb0(%upsampled: tensor<1x1x2x2xf32>):
    %0 = "onnx.Upsample"(%upsampled) {scales = array<f32: 1.0, 1.0, 2.0, 2.0>} : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
    onnx.yield %0 : tensor<1x1x4x4xf32> {onnx.inputs = [{name = "upsampled"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x2x2xf32>):
    %scales = onnx.initializer "scales" dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32> : tensor<4xf32>
    %none = onnx.absent
    // expected-error @below {{'mode' is 'other'}}
    %0 = "onnx.Resize"(%x, %none, %scales) {mode = "other"} : (tensor<1x1x2x2xf32>, none, tensor<4xf32>) -> tensor<1x1x4x4xf32>
    onnx.yield %0 : tensor<1x1x4x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
