// RUN: mp-opt %s --split-input-file --convert-onnx-to-linalg | FileCheck %s

// Small windows inside of the image: no copy of it, one loop over windows that
// reads all cells.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<2x3x8x8xf32> {mp.element = f32, mp.name = "pool_x"}
// CHECK-NOT: tensor.insert_slice
// CHECK: tensor.extract_slice {{.*}}[2, 3, 4, 4] [1, 1, 2, 2]
// CHECK-NOT: tensor.insert_slice
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
// CHECK-COUNT-4: arith.cmpf ogt
// CHECK-NOT: linalg.generic
module attributes {onnx.opset_import = [["", 12]]} {
  onnx.graph {
  ^bb0(%pool_x: tensor<2x3x8x8xf32>):
    %0 = "onnx.MaxPool"(%pool_x) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x3x8x8xf32>) -> tensor<2x3x4x4xf32>
    onnx.yield %0 : tensor<2x3x4x4xf32> {onnx.inputs = [{name = "pool_x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Bigger ones are a reduction, where sizes are not known.
// CHECK: #[[$IMAGE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 + d4, d3 + d5)>
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<2x3x?x8xf32> {mp.element = f32, mp.name = "wide_x"}
// CHECK: linalg.generic {indexing_maps = [#[[$IMAGE]],
// CHECK: arith.cmpf ogt
// CHECK-NOT: linalg.generic
module attributes {onnx.opset_import = [["", 12]]} {
  onnx.graph {
  ^bb0(%wide_x: tensor<2x3x?x8xf32>):
    %0 = "onnx.MaxPool"(%wide_x) {kernel_shape = array<i64: 5, 5>} : (tensor<2x3x?x8xf32>) -> tensor<2x3x?x4xf32>
    onnx.yield %0 : tensor<2x3x?x4xf32> {onnx.inputs = [{name = "wide_x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Windows that overlap: rows first, then the last axis, of which elements that
// do not follow each other are read.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<2x3x9x9xf32> {mp.element = f32, mp.name = "passes_x"}
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3x4x9xf32>)
// CHECK-COUNT-3: arith.cmpf ogt
// CHECK-NOT: arith.cmpf ogt
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3x4x4xf32>)
// CHECK-COUNT-3: arith.cmpf ogt
// CHECK-NOT: arith.cmpf ogt
// CHECK: return
module attributes {onnx.opset_import = [["", 12]]} {
  onnx.graph {
  ^bb0(%passes_x: tensor<2x3x9x9xf32>):
    %0 = "onnx.MaxPool"(%passes_x) {kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>} : (tensor<2x3x9x9xf32>) -> tensor<2x3x4x4xf32>
    onnx.yield %0 : tensor<2x3x4x4xf32> {onnx.inputs = [{name = "passes_x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Where the greatest are: one loop that compares all cells, without branches,
// and counts them in 32 bits. Of bigger windows, loops look for them.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<2x3x8x8xf32> {mp.element = f32, mp.name = "places_x"}
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3x4x4xi64>)
// CHECK-NOT: scf.for
// CHECK-COUNT-4: arith.select {{.*}} : i32
// CHECK-NOT: scf.for
// CHECK: linalg.yield %{{.*}} : i64
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3x4x4xi64>)
// CHECK-COUNT-2: scf.for
// CHECK: linalg.yield %{{.*}} : i64
module attributes {onnx.opset_import = [["", 12]]} {
  onnx.graph {
  ^bb0(%places_x: tensor<2x3x8x8xf32>):
    %0:2 = "onnx.MaxPool"(%places_x) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 1, 0, 0, 0>} : (tensor<2x3x8x8xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x4x4xi64>)
    %1:2 = "onnx.MaxPool"(%places_x) {kernel_shape = array<i64: 5, 5>} : (tensor<2x3x8x8xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x4x4xi64>)
    onnx.yield %0#1, %1#1 : tensor<2x3x4x4xi64>, tensor<2x3x4x4xi64> {onnx.inputs = [{name = "places_x"}], onnx.outputs = [{name = "small"}, {name = "big"}]}
  }
}

// -----

// Pads of a maximum are the lowest value; ceil_mode adds a window that ends
// behind the image.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<1x1x6xf32> {mp.element = f32, mp.name = "edge_x"}
// CHECK-DAG: %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
// CHECK: linalg.fill ins(%[[LOWEST]] : f32) outs(%{{.*}} : tensor<1x1x9xf32>)
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 1] [1, 1, 6] [1, 1, 1] : tensor<1x1x6xf32> into tensor<1x1x9xf32>
// CHECK: linalg.generic
// CHECK: return %{{.*}} : tensor<1x1x4xf32>
module attributes {onnx.opset_import = [["", 12]]} {
  onnx.graph {
  ^bb0(%edge_x: tensor<1x1x6xf32>):
    %0 = "onnx.MaxPool"(%edge_x) {kernel_shape = array<i64: 3>, strides = array<i64: 2>, pads = array<i64: 1, 1>, ceil_mode = 1 : i64} : (tensor<1x1x6xf32>) -> tensor<1x1x4xf32>
    onnx.yield %0 : tensor<1x1x4xf32> {onnx.inputs = [{name = "edge_x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// 16-bit means are summed up in f32 and rounded once.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<1x2x6xbf16> {mp.element = bf16, mp.name = "mean_x"}
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x2x3xf32>)
// CHECK: arith.addf {{.*}} : f32
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x2x3xbf16>)
// CHECK: arith.divf {{.*}} : f32
// CHECK: arith.truncf
module attributes {onnx.opset_import = [["", 22]]} {
  onnx.graph {
  ^bb0(%mean_x: tensor<1x2x6xbf16>):
    %0 = "onnx.AveragePool"(%mean_x) {kernel_shape = array<i64: 2>, strides = array<i64: 2>} : (tensor<1x2x6xbf16>) -> tensor<1x2x3xbf16>
    onnx.yield %0 : tensor<1x2x3xbf16> {onnx.inputs = [{name = "mean_x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A batch of unknown size is the only size that is asked for.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<?x4x6xf32> {mp.element = f32, mp.name = "layer_x"}
// CHECK: tensor.dim
// CHECK-NOT: tensor.dim
// CHECK-NOT: runtime.fail
// CHECK: return
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%layer_x: tensor<?x4x6xf32>, %s: tensor<6xf32>, %b: tensor<6xf32>):
    %0, %1, %2 = "onnx.LayerNormalization"(%layer_x, %s, %b) : (tensor<?x4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<?x4x6xf32>, tensor<?x4x1xf32>, tensor<?x4x1xf32>)
    onnx.yield %0, %1, %2 : tensor<?x4x6xf32>, tensor<?x4x1xf32>, tensor<?x4x1xf32> {onnx.inputs = [{name = "layer_x"}, {name = "s"}, {name = "b"}], onnx.outputs = [{name = "y"}, {name = "mean"}, {name = "factor"}]}
  }
}

// -----

// Labels are data: each is checked before it is used as an index.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<4x5xf32> {mp.element = f32, mp.name = "loss_x"}
// CHECK: arith.cmpi ult
// CHECK: runtime.fail "node 'l' (SoftmaxCrossEntropyLoss-13): label %0 of %1 classes"{{.*}} parallel
// CHECK: tensor.extract
module attributes {onnx.opset_import = [["", 13]]} {
  onnx.graph {
  ^bb0(%loss_x: tensor<4x5xf32>, %t: tensor<4xi64>):
    %0, %1 = "onnx.SoftmaxCrossEntropyLoss"(%loss_x, %t) {onnx.name = "l"} : (tensor<4x5xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4x5xf32>)
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "loss_x"}, {name = "t"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Products of 8-bit integers are 32-bit integers.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<2x3xi8> {mp.element = ui8, mp.name = "product_x"}
// CHECK: arith.extui {{.*}} : i8 to i32
// CHECK: arith.muli {{.*}} : i32
// CHECK: return %{{.*}} : tensor<2x4xi32>
module attributes {onnx.opset_import = [["", 10]]} {
  onnx.graph {
  ^bb0(%product_x: tensor<2x3xui8>, %w: tensor<3x4xi8>):
    %0 = "onnx.MatMulInteger"(%product_x, %w) : (tensor<2x3xui8>, tensor<3x4xi8>) -> tensor<2x4xi32>
    onnx.yield %0 : tensor<2x4xi32> {onnx.inputs = [{name = "product_x"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A pair of operands is one contraction, whatever the order of their axes.
// CHECK-DAG: #[[$A:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>
// CHECK-DAG: #[[$B:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<2x3x4xf32> {mp.element = f32, mp.name = "einsum_x"}
// CHECK-NOT: linalg.generic
// CHECK: kernel.contract {indexing_maps = [#[[$A]], #[[$B]],
module attributes {onnx.opset_import = [["", 12]]} {
  onnx.graph {
  ^bb0(%einsum_x: tensor<2x3x4xf32>, %w: tensor<2x5x3xf32>):
    %0 = "onnx.Einsum"(%einsum_x, %w) {equation = "bki,bjk->bij"} : (tensor<2x3x4xf32>, tensor<2x5x3xf32>) -> tensor<2x4x5xf32>
    onnx.yield %0 : tensor<2x4x5xf32> {onnx.inputs = [{name = "einsum_x"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Constant scales make static sizes.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<1x2x4x4xf32> {mp.element = f32, mp.name = "resize_x"}
// CHECK-NOT: runtime.fail
// CHECK: return %{{.*}} : tensor<1x2x6x4xf32>
module attributes {onnx.opset_import = [["", 13]]} {
  onnx.graph {
  ^bb0(%resize_x: tensor<1x2x4x4xf32>):
    %none = onnx.absent
    %scales = onnx.initializer "scales" dense<[1.0, 1.0, 1.5, 1.0]> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Resize"(%resize_x, %none, %scales) {mode = "linear"} : (tensor<1x2x4x4xf32>, none, tensor<4xf32>) -> tensor<1x2x?x?xf32>
    onnx.yield %0 : tensor<1x2x?x?xf32> {onnx.inputs = [{name = "resize_x"}], onnx.outputs = [{name = "y"}]}
  }
}
