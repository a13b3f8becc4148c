// RUN: mp-opt %s --split-input-file --pass-pipeline="builtin.module(convert-onnx-to-linalg,canonicalize,cse,func.func(linalg-fuse-elementwise-ops),canonicalize,cse,func.func(mp-fuse-contractions{keep-updates=true},mp-fuse-attention),canonicalize,cse)" | FileCheck %s
// RUN: mp-opt %s --split-input-file --pass-pipeline="builtin.module(convert-onnx-to-linalg,canonicalize,cse,func.func(linalg-fuse-elementwise-ops),canonicalize,cse,func.func(mp-fuse-contractions{keep-updates=true},mp-fuse-attention),canonicalize,cse)" --remarks-filter=mp-codegen 2>&1 | FileCheck %s --check-prefix=REMARK

// Scale, mask and casts between the products are a region; the matrices of
// queries by keys are nowhere.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[Q:[^:]*]]: tensor<2x16x64xbf16>
// CHECK-SAME: %[[K:[^:]*]]: tensor<2x64x32xbf16>
// CHECK-SAME: %[[V:[^:]*]]: tensor<2x32x64xbf16>
// CHECK-SAME: %[[MASK:[^:]*]]: tensor<2x1x32xf32>
// CHECK-NOT: kernel.contract
// CHECK: %[[RESULT:.*]]:3 = kernel.attention
// CHECK-SAME: ins(%[[Q]], %[[K]], %[[V]], %[[MASK]] :
// CHECK-SAME: outs(%{{.*}} : tensor<2x16x64xbf16>, tensor<2x16xf32>, tensor<2x16xf32>)
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[P:.*]]: f32, %[[SUM:.*]]: f32, %[[HIDDEN:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
// CHECK: arith.truncf %[[S]] : f32 to bf16
// CHECK: %[[MASKED:.*]] = arith.addf %{{.*}}, %[[HIDDEN]] : f32
// CHECK: %[[WEIGHT:.*]] = arith.truncf %[[P]] : f32 to bf16
// CHECK: %[[FINISHED:.*]] = arith.truncf %[[SUM]] : f32 to bf16
// CHECK: kernel.yield %[[MASKED]], %[[WEIGHT]], %[[FINISHED]] : f32, bf16, bf16
// CHECK-NOT: tensor<2x16x32x
// CHECK: return %[[RESULT]]#0
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%q: tensor<2x16x64xbf16>, %k: tensor<2x64x32xbf16>, %v: tensor<2x32x64xbf16>, %mask: tensor<2x1x32xf32>):
    %s = "onnx.MatMul"(%q, %k) {onnx.results = ["s"]} : (tensor<2x16x64xbf16>, tensor<2x64x32xbf16>) -> tensor<2x16x32xbf16>
    %wide = "onnx.Cast"(%s) {onnx.results = ["wide"], to = 1 : i64} : (tensor<2x16x32xbf16>) -> tensor<2x16x32xf32>
    %masked = "onnx.Add"(%wide, %mask) {onnx.results = ["masked"]} : (tensor<2x16x32xf32>, tensor<2x1x32xf32>) -> tensor<2x16x32xf32>
    %p = "onnx.Softmax"(%masked) {onnx.results = ["p"], axis = -1 : si64} : (tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
    %narrow = "onnx.Cast"(%p) {onnx.results = ["narrow"], to = 16 : i64} : (tensor<2x16x32xf32>) -> tensor<2x16x32xbf16>
    %o = "onnx.MatMul"(%narrow, %v) {onnx.results = ["o"]} : (tensor<2x16x32xbf16>, tensor<2x32x64xbf16>) -> tensor<2x16x64xbf16>
    onnx.yield %o : tensor<2x16x64xbf16> {onnx.inputs = [{name = "q"}, {name = "k"}, {name = "v"}, {name = "mask"}], onnx.outputs = [{name = "o"}]}
  }
}

// -----

// Probabilities that are a result of the model have to be in memory.
// CHECK-LABEL: func.func @main
// CHECK-NOT: kernel.attention
// REMARK: attention-in-memory{{.*}}Reason="its probabilities or their gradients are results, or are read by another op"
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%q: tensor<2x16x64xbf16>, %k: tensor<2x64x32xbf16>, %v: tensor<2x32x64xbf16>):
    %s = "onnx.MatMul"(%q, %k) {onnx.results = ["s"]} : (tensor<2x16x64xbf16>, tensor<2x64x32xbf16>) -> tensor<2x16x32xbf16>
    %wide = "onnx.Cast"(%s) {onnx.results = ["wide"], to = 1 : i64} : (tensor<2x16x32xbf16>) -> tensor<2x16x32xf32>
    %p = "onnx.Softmax"(%wide) {onnx.results = ["p"], axis = -1 : si64} : (tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
    %narrow = "onnx.Cast"(%p) {onnx.results = ["narrow"], to = 16 : i64} : (tensor<2x16x32xf32>) -> tensor<2x16x32xbf16>
    %o = "onnx.MatMul"(%narrow, %v) {onnx.results = ["o"]} : (tensor<2x16x32xbf16>, tensor<2x32x64xbf16>) -> tensor<2x16x64xbf16>
    onnx.yield %o, %narrow : tensor<2x16x64xbf16>, tensor<2x16x32xbf16> {onnx.inputs = [{name = "q"}, {name = "k"}, {name = "v"}], onnx.outputs = [{name = "o"}, {name = "narrow"}]}
  }
}

// -----

// Tensor cores multiply 16-bit factors.
// CHECK-LABEL: func.func @main
// CHECK-NOT: kernel.attention
// REMARK: attention-in-memory{{.*}}Reason="its factors are not 16-bit floats"
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%q: tensor<2x16x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x32x64xf32>):
    %s = "onnx.MatMul"(%q, %k) {onnx.results = ["s"]} : (tensor<2x16x64xf32>, tensor<2x64x32xf32>) -> tensor<2x16x32xf32>
    %p = "onnx.Softmax"(%s) {onnx.results = ["p"], axis = -1 : si64} : (tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
    %o = "onnx.MatMul"(%p, %v) {onnx.results = ["o"]} : (tensor<2x16x32xf32>, tensor<2x32x64xf32>) -> tensor<2x16x64xf32>
    onnx.yield %o : tensor<2x16x64xf32> {onnx.inputs = [{name = "q"}, {name = "k"}, {name = "v"}], onnx.outputs = [{name = "o"}]}
  }
}

// -----

// A softmax over queries is none of attention.
// CHECK-LABEL: func.func @main
// CHECK-NOT: kernel.attention
// REMARK: attention-in-memory{{.*}}Reason="the softmax is not over keys"
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%q: tensor<2x16x64xbf16>, %k: tensor<2x64x32xbf16>, %v: tensor<2x32x64xbf16>):
    %s = "onnx.MatMul"(%q, %k) {onnx.results = ["s"]} : (tensor<2x16x64xbf16>, tensor<2x64x32xbf16>) -> tensor<2x16x32xbf16>
    %p = "onnx.Softmax"(%s) {onnx.results = ["p"], axis = 0 : si64} : (tensor<2x16x32xbf16>) -> tensor<2x16x32xbf16>
    %o = "onnx.MatMul"(%p, %v) {onnx.results = ["o"]} : (tensor<2x16x32xbf16>, tensor<2x32x64xbf16>) -> tensor<2x16x64xbf16>
    onnx.yield %o : tensor<2x16x64xbf16> {onnx.inputs = [{name = "q"}, {name = "k"}, {name = "v"}], onnx.outputs = [{name = "o"}]}
  }
}
