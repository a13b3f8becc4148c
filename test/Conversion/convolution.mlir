// RUN: mp-opt %s --split-input-file --convert-onnx-to-linalg | FileCheck %s

// Pads are reads out of bounds, and the bias is added where the sum is stored.
// CHECK-DAG: #[[$IMAGE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 * 2 + d5 - 1, d3 * 2 + d6 - 1)>
// CHECK-DAG: #[[$WEIGHT:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
// CHECK-DAG: #[[$BIAS:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1)>
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<2x4x8x8xbf16> {mp.element = bf16, mp.name = "conv_x"}
// CHECK-NOT: tensor.pad
// CHECK-NOT: tensor.insert_slice
// CHECK: kernel.contract {indexing_maps = [#[[$IMAGE]], #[[$WEIGHT]], #[[$BIAS]],
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[ELEMENT:.*]]: bf16):
// CHECK: %[[ADDEND:.*]] = arith.extf %[[ELEMENT]]
// CHECK: %[[TOTAL:.*]] = arith.addf %[[SUM]], %[[ADDEND]] : f32
// CHECK: arith.truncf %[[TOTAL]] : f32 to bf16
module attributes {onnx.opset_import = [["", 22]]} {
  onnx.graph {
  ^bb0(%conv_x: tensor<2x4x8x8xbf16>, %w: tensor<6x4x3x3xbf16>, %b: tensor<6xbf16>):
    %0 = "onnx.Conv"(%conv_x, %w, %b) {pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<2x4x8x8xbf16>, tensor<6x4x3x3xbf16>, tensor<6xbf16>) -> tensor<2x6x4x4xbf16>
    onnx.yield %0 : tensor<2x6x4x4xbf16> {onnx.inputs = [{name = "conv_x"}, {name = "w"}, {name = "b"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A batch of unknown size stays the only one.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<?x4x8xf32> {mp.element = f32, mp.name = "batch_x"}
// CHECK: kernel.contract
// CHECK: } -> tensor<?x6x6xf32>
module attributes {onnx.opset_import = [["", 11]]} {
  onnx.graph {
  ^bb0(%batch_x: tensor<?x4x8xf32>, %w: tensor<6x4x3xf32>):
    %0 = "onnx.Conv"(%batch_x, %w) : (tensor<?x4x8xf32>, tensor<6x4x3xf32>) -> tensor<?x6x6xf32>
    onnx.yield %0 : tensor<?x6x6xf32> {onnx.inputs = [{name = "batch_x"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Groups are an axis of their own.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<1x4x9xf32> {mp.element = f32, mp.name = "group_x"}
// CHECK: tensor.expand_shape %{{.*}} : tensor<1x4x9xf32> into tensor<1x2x2x9xf32>
// CHECK: kernel.contract
// CHECK: } -> tensor<1x2x3x7xf32>
// CHECK: tensor.collapse_shape %{{.*}} : tensor<1x2x3x7xf32> into tensor<1x6x7xf32>
module attributes {onnx.opset_import = [["", 11]]} {
  onnx.graph {
  ^bb0(%group_x: tensor<1x4x9xf32>, %w: tensor<6x2x3xf32>):
    %0 = "onnx.Conv"(%group_x, %w) {group = 2 : i64} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x7xf32>
    onnx.yield %0 : tensor<1x6x7xf32> {onnx.inputs = [{name = "group_x"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// At stride 2 the even and the odd places have filter positions of their own:
// nothing is multiplied by zeros that were put in between.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<1x4x5xf32> {mp.element = f32, mp.name = "up_x"}
// CHECK-NOT: tensor.insert_slice
// CHECK: %[[EVEN:.*]] = kernel.contract
// CHECK: kernel.contract {{.*}} outs(%[[EVEN]] : tensor<1x3x11xf32>)
module attributes {onnx.opset_import = [["", 11]]} {
  onnx.graph {
  ^bb0(%up_x: tensor<1x4x5xf32>, %w: tensor<4x3x3xf32>):
    %0 = "onnx.ConvTranspose"(%up_x, %w) {strides = array<i64: 2>} : (tensor<1x4x5xf32>, tensor<4x3x3xf32>) -> tensor<1x3x11xf32>
    onnx.yield %0 : tensor<1x3x11xf32> {onnx.inputs = [{name = "up_x"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// The weight's gradient is one contraction over batch and places.
// CHECK-DAG: #[[$GRAD:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
// CHECK-DAG: #[[$IMAGE:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2 + d4 - 1)>
// CHECK-DAG: #[[$WEIGHT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4)>
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<2x6x8xf32> {mp.element = f32, mp.name = "grad_dy"}
// CHECK: kernel.contract {indexing_maps = [#[[$GRAD]], #[[$IMAGE]], #[[$WEIGHT]]]}
// CHECK-NOT: kernel.contract
module attributes {onnx.opset_import = [["", 17], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%grad_dy: tensor<2x6x8xf32>, %x: tensor<2x4x8xf32>, %w: tensor<6x4x3xf32>):
    %dx, %dw, %db = "onnx.ConvGrad"(%grad_dy, %x, %w) {onnx.domain = "com.microsoft", pads = array<i64: 1, 1>} : (tensor<2x6x8xf32>, tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> (tensor<2x4x8xf32>, tensor<6x4x3xf32>, tensor<6xf32>)
    onnx.yield %dw : tensor<6x4x3xf32> {onnx.inputs = [{name = "grad_dy"}, {name = "x"}, {name = "w"}], onnx.outputs = [{name = "dw"}]}
  }
}
