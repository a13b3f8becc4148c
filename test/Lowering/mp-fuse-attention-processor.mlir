// RUN: mp-opt %s --split-input-file --pass-pipeline="builtin.module(convert-onnx-to-linalg,canonicalize,cse,func.func(linalg-fuse-elementwise-ops),canonicalize,cse,func.func(mp-fuse-contractions,mp-fuse-attention{on-processor=true}),canonicalize,cse)" | FileCheck %s
// RUN: mp-opt %s --split-input-file --pass-pipeline="builtin.module(convert-onnx-to-linalg,canonicalize,cse,func.func(linalg-fuse-elementwise-ops),canonicalize,cse,func.func(mp-fuse-contractions,mp-fuse-attention{on-processor=true}),canonicalize,cse)" --remarks-filter=mp-codegen 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: mp-opt %s --split-input-file --pass-pipeline="builtin.module(convert-onnx-to-linalg,canonicalize,cse,func.func(linalg-fuse-elementwise-ops),canonicalize,cse,func.func(mp-fuse-contractions,mp-fuse-attention{on-processor=true min-scores=0 min-head-scores=0}),canonicalize,cse)" | FileCheck %s --check-prefix=ALL

// Processors take fp32, too.
// CHECK-LABEL: func.func @main
// CHECK: kernel.attention
// ALL: kernel.attention
// CHECK-SAME: outs(%{{.*}} : tensor<8x512x64xf32>, tensor<8x512xf32>, tensor<8x512xf32>)
// CHECK-NOT: kernel.contract
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%q: tensor<8x512x64xf32>, %k: tensor<8x64x512xf32>, %v: tensor<8x512x64xf32>):
    %s = "onnx.MatMul"(%q, %k) {onnx.results = ["s"]} : (tensor<8x512x64xf32>, tensor<8x64x512xf32>) -> tensor<8x512x512xf32>
    %p = "onnx.Softmax"(%s) {onnx.results = ["p"], axis = -1 : si64} : (tensor<8x512x512xf32>) -> tensor<8x512x512xf32>
    %o = "onnx.MatMul"(%p, %v) {onnx.results = ["o"]} : (tensor<8x512x512xf32>, tensor<8x512x64xf32>) -> tensor<8x512x64xf32>
    onnx.yield %o : tensor<8x512x64xf32> {onnx.inputs = [{name = "q"}, {name = "k"}, {name = "v"}], onnx.outputs = [{name = "o"}]}
  }
}

// -----

// Matrices that fit the caches are faster as a whole, however many they are.
// REMARK: attention-in-memory{{.*}}Reason="its matrices fit the caches"
// CHECK-LABEL: func.func @main
// CHECK-NOT: kernel.attention
// ALL: kernel.attention
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%q: tensor<192x128x64xf32>, %k: tensor<192x64x128xf32>, %v: tensor<192x128x64xf32>):
    %s = "onnx.MatMul"(%q, %k) {onnx.results = ["s"]} : (tensor<192x128x64xf32>, tensor<192x64x128xf32>) -> tensor<192x128x128xf32>
    %p = "onnx.Softmax"(%s) {onnx.results = ["p"], axis = -1 : si64} : (tensor<192x128x128xf32>) -> tensor<192x128x128xf32>
    %o = "onnx.MatMul"(%p, %v) {onnx.results = ["o"]} : (tensor<192x128x128xf32>, tensor<192x128x64xf32>) -> tensor<192x128x64xf32>
    onnx.yield %o : tensor<192x128x64xf32> {onnx.inputs = [{name = "q"}, {name = "k"}, {name = "v"}], onnx.outputs = [{name = "o"}]}
  }
}
