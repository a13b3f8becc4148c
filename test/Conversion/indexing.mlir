// RUN: mp-opt %s --split-input-file --convert-onnx-to-linalg | FileCheck %s

// Indices are checked once each, in a loop of their own; the loop that moves
// elements has no branch.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<100x64xf32> {mp.element = f32, mp.name = "gather_x"}
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<7xi32>) outs(%{{.*}} : tensor<7xi64>)
// CHECK: runtime.fail "node 'g' (Gather-13): index %0 is out of range for size %1"
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<7x64xf32>)
// CHECK-NOT: scf.if
// CHECK: tensor.extract
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%gather_x: tensor<100x64xf32>, %i: tensor<7xi32>):
    %0 = "onnx.Gather"(%gather_x, %i) {onnx.name = "g"} : (tensor<100x64xf32>, tensor<7xi32>) -> tensor<7x64xf32>
    onnx.yield %0 : tensor<7x64xf32> {onnx.inputs = [{name = "gather_x"}, {name = "i"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// One index that is known takes a slice.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<2x5x3xf32> {mp.element = f32, mp.name = "at_x"}
// CHECK: tensor.extract_slice %{{.*}}[0, 4, 0] [2, 1, 3] [1, 1, 1] : tensor<2x5x3xf32> to tensor<2x3xf32>
// CHECK-NOT: linalg.generic
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%at_x: tensor<2x5x3xf32>):
    %last = onnx.initializer "last" dense<-1> : tensor<i64> : tensor<i64>
    %0 = "onnx.Gather"(%at_x, %last) {axis = 1 : i64} : (tensor<2x5x3xf32>, tensor<i64>) -> tensor<2x3xf32>
    onnx.yield %0 : tensor<2x3xf32> {onnx.inputs = [{name = "at_x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Sums of 16-bit floats are formed in f32 and rounded once; a row at a time,
// in place.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<9x4xbf16> {mp.element = bf16, mp.name = "scatter_x"}
// CHECK: arith.extf
// CHECK: scf.for {{.*}} -> (tensor<9x4xf32>)
// CHECK: %[[ROW:.*]] = tensor.extract_slice %{{.*}} : tensor<9x4xf32> to tensor<4xf32>
// CHECK: linalg.generic {{.*}} outs(%[[ROW]] : tensor<4xf32>)
// CHECK: arith.addf {{.*}} : f32
// CHECK: tensor.insert_slice
// CHECK: arith.truncf
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%scatter_x: tensor<9x4xbf16>, %i: tensor<3x1xi64>, %u: tensor<3x4xbf16>):
    %0 = "onnx.ScatterND"(%scatter_x, %i, %u) {reduction = "add"} : (tensor<9x4xbf16>, tensor<3x1xi64>, tensor<3x4xbf16>) -> tensor<9x4xbf16>
    onnx.yield %0 : tensor<9x4xbf16> {onnx.inputs = [{name = "scatter_x"}, {name = "i"}, {name = "u"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// What is selected is counted first.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<5x4xf32> {mp.element = f32, mp.name = "nonzero_x"}
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "reduction"]
// CHECK: %[[COUNT:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: tensor.empty(%[[COUNT]]) : tensor<2x?xi64>
// CHECK: scf.for
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%nonzero_x: tensor<5x4xf32>):
    %0 = "onnx.NonZero"(%nonzero_x) : (tensor<5x4xf32>) -> tensor<2x?xi64>
    onnx.yield %0 : tensor<2x?xi64> {onnx.inputs = [{name = "nonzero_x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// The place and the element are found in one reduction.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<5x4xf16> {mp.element = f16, mp.name = "argmax_x"}
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : tensor<5x4xf16>) outs(%{{.*}} : tensor<5xf32>, tensor<5xi64>)
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%argmax_x: tensor<5x4xf16>):
    %0 = "onnx.ArgMax"(%argmax_x) {axis = -1 : i64, keepdims = 0 : i64} : (tensor<5x4xf16>) -> tensor<5xi64>
    onnx.yield %0 : tensor<5xi64> {onnx.inputs = [{name = "argmax_x"}], onnx.outputs = [{name = "y"}]}
  }
}
