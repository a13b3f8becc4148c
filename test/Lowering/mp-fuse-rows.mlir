// RUN: mlir-opt --load-dialect-plugin=%mp_plugin --load-pass-plugin=%mp_plugin %s --split-input-file \
// RUN:   --pass-pipeline="builtin.module(convert-onnx-to-linalg,canonicalize,cse,func.func(linalg-fuse-elementwise-ops,mp-fuse-rows),canonicalize,cse)" \
// RUN:   | FileCheck %s
// REQUIRES: mlir-opt

// In the loop over rows of Cast -> Softmax -> Cast nothing bigger than a row is
// written between the casts, and nothing at all outside of it.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<8x16xbf16>
// CHECK-NOT: linalg.generic
// CHECK: %[[OUT:.*]] = tensor.empty() : tensor<8x16xbf16>
// CHECK: %[[RESULT:.*]] = scf.forall (%[[ROW:.*]]) in (8) shared_outs(%{{.*}} = %[[OUT]])
// CHECK-NEXT: tensor.extract_slice %[[X]][%[[ROW]], 0] [1, 16] [1, 1] : tensor<8x16xbf16> to tensor<1x16xbf16>
// CHECK-NOT: tensor<8x
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK-NOT: tensor<8x16xf32>
// CHECK: tensor.parallel_insert_slice
// CHECK: return %[[RESULT]]
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<8x16xbf16>):
    %wide = "onnx.Cast"(%x) {onnx.results = ["wide"], to = 1 : i64} : (tensor<8x16xbf16>) -> tensor<8x16xf32>
    %p = "onnx.Softmax"(%wide) {onnx.results = ["p"]} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %y = "onnx.Cast"(%p) {onnx.results = ["y"], to = 16 : i64} : (tensor<8x16xf32>) -> tensor<8x16xbf16>
    onnx.yield %y : tensor<8x16xbf16> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// What the reductions of both begin with is one value: it is no result of a
// loop, and each loop has its maximum, its exponentials and its sum once.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: math.exp
// CHECK-NOT: math.exp
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<8x16xf32>, %s: tensor<8x8xf32>):
    %p = "onnx.Softmax"(%x) {onnx.results = ["p"]} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %q = "onnx.MatMul"(%s, %p) {onnx.results = ["q"]} : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %y = "onnx.Softmax"(%q) {onnx.results = ["y"]} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    onnx.yield %y : tensor<8x16xf32> {onnx.inputs = [{name = "x"}, {name = "s"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Rows that are neighbours in memory are computed in blocks of whole vectors.
// CHECK-LABEL: func.func @main
// CHECK: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (4, 256) step (1, 128)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<1x10x128xf32>) outs(%{{.*}} : tensor<1x128xf32>)
// CHECK: arith.maximumf
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK: tensor.parallel_insert_slice
// CHECK-NOT: linalg.generic
// CHECK: return
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x10x256xf32>):
    %y = "onnx.Softmax"(%x) {axis = 1 : si64, onnx.results = ["y"]} : (tensor<4x10x256xf32>) -> tensor<4x10x256xf32>
    onnx.yield %y : tensor<4x10x256xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Rows whose elements are in too many lines of memory stay apart.
// CHECK-LABEL: func.func @main
// CHECK-NOT: scf.forall
// CHECK: return
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x600x32xf32>):
    %y = "onnx.Softmax"(%x) {axis = 1 : si64, onnx.results = ["y"]} : (tensor<4x600x32xf32>) -> tensor<4x600x32xf32>
    onnx.yield %y : tensor<4x600x32xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
