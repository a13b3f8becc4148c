// RUN: mp-opt %s --split-input-file --convert-onnx-to-linalg | FileCheck %s

// Parts are views: slices of the operand.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<6x4xf32> {mp.element = f32, mp.name = "split_x"}
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [2, 4] [1, 1]
// CHECK: tensor.extract_slice %{{.*}}[2, 0] [4, 4] [1, 1]
// CHECK-NOT: linalg.generic
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%split_x: tensor<6x4xf32>):
    %parts = onnx.initializer "parts" dense<[2, 4]> : tensor<2xi64> : tensor<2xi64>
    %a, %b = "onnx.Split"(%split_x, %parts) {axis = 0 : i64} : (tensor<6x4xf32>, tensor<2xi64>) -> (tensor<2x4xf32>, tensor<4x4xf32>)
    onnx.yield %a, %b : tensor<2x4xf32>, tensor<4x4xf32> {onnx.inputs = [{name = "split_x"}], onnx.outputs = [{name = "a"}, {name = "b"}]}
  }
}

// -----

// A whole is inserted part by part; unknown sizes add up.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<?x4xf32> {mp.element = f32, mp.name = "concat_x"}
// CHECK: %[[SUM:.*]] = arith.addi
// CHECK: tensor.empty(%[[SUM]]) : tensor<?x4xf32>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0]
// CHECK: tensor.insert_slice
// CHECK-NOT: linalg.generic
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%concat_x: tensor<?x4xf32>, %y: tensor<?x4xf32>):
    %0 = "onnx.Concat"(%concat_x, %y) {axis = 0 : i64} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    onnx.yield %0 : tensor<?x4xf32> {onnx.inputs = [{name = "concat_x"}, {name = "y"}], onnx.outputs = [{name = "z"}]}
  }
}

// -----

// Up to the end, as much as there is: no clamping of sizes that are known.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<8x4xf32> {mp.element = f32, mp.name = "slice_x"}
// CHECK-NOT: arith.m
// CHECK: tensor.extract_slice %{{.*}}[2, 0] [3, 4] [2, 1] : tensor<8x4xf32> to tensor<3x4xf32>
// CHECK-NEXT: return
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%slice_x: tensor<8x4xf32>):
    %starts = onnx.initializer "starts" dense<[2]> : tensor<1xi64> : tensor<1xi64>
    %ends = onnx.initializer "ends" dense<[9223372036854775807]> : tensor<1xi64> : tensor<1xi64>
    %axes = onnx.initializer "axes" dense<[-2]> : tensor<1xi64> : tensor<1xi64>
    %steps = onnx.initializer "steps" dense<[2]> : tensor<1xi64> : tensor<1xi64>
    %0 = "onnx.Slice"(%slice_x, %starts, %ends, %axes, %steps) : (tensor<8x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x4xf32>
    onnx.yield %0 : tensor<3x4xf32> {onnx.inputs = [{name = "slice_x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A border of a constant is a fill; negative pads take a slice.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<4x4xf32> {mp.element = f32, mp.name = "pad_x"}
// CHECK: %[[PART:.*]] = tensor.extract_slice %{{.*}}[1, 0] [3, 4] [1, 1]
// CHECK: %[[FULL:.*]] = linalg.fill {{.*}} -> tensor<5x4xf32>
// CHECK: tensor.insert_slice %[[PART]] into %[[FULL]][0, 0] [3, 4] [1, 1]
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%pad_x: tensor<4x4xf32>):
    %pads = onnx.initializer "pads" dense<[-1, 0, 2, 0]> : tensor<4xi64> : tensor<4xi64>
    %0 = "onnx.Pad"(%pad_x, %pads) : (tensor<4x4xf32>, tensor<4xi64>) -> tensor<5x4xf32>
    onnx.yield %0 : tensor<5x4xf32> {onnx.inputs = [{name = "pad_x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Repeats are one broadcast.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<2x3xf32> {mp.element = f32, mp.name = "tile_x"}
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x1x3xf32>) outs(%{{.*}} : tensor<2x4x3xf32>)
// CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0], [1, 2]] : tensor<2x4x3xf32> into tensor<2x12xf32>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%tile_x: tensor<2x3xf32>):
    %repeats = onnx.initializer "repeats" dense<[1, 4]> : tensor<2xi64> : tensor<2xi64>
    %0 = "onnx.Tile"(%tile_x, %repeats) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x12xf32>
    onnx.yield %0 : tensor<2x12xf32> {onnx.inputs = [{name = "tile_x"}], onnx.outputs = [{name = "y"}]}
  }
}
