// RUN: mp-opt %s --split-input-file --mp-convert-weights --mp-emulate \
// RUN:   | FileCheck %s

// Every 16-bit value is f32 and rounded; graph inputs and outputs keep type
// and name, casts to f32 are gone, constants hold the rounded values.
// CHECK-LABEL: @nodes
// CHECK: ^bb0(%[[X:.*]]: tensor<2x2xbf16>):
// CHECK-NEXT: %[[XF:.*]] = "onnx.Cast"(%[[X]]) {{.*}}to = 1
// CHECK-NEXT: %[[W:.*]] = onnx.initializer "w" dense<1.500000e+00> : tensor<2x2xf32>
// CHECK-NEXT: %[[A:.*]] = "onnx.MatMul"(%[[XF]], %[[W]]) {{.*}}"a_exact"{{.*}} -> tensor<2x2xf32>
// CHECK-NEXT: %[[AL:.*]] = "onnx.Cast"(%[[A]]) {{.*}}to = 16
// CHECK-NEXT: %[[AF:.*]] = "onnx.Cast"(%[[AL]]) {{.*}}onnx.results = ["a"], to = 1
// CHECK-NEXT: %[[SM:.*]] = "onnx.Softmax"(%[[AF]])
// CHECK-NEXT: %[[N:.*]] = "onnx.Cast"(%[[SM]]) {onnx.results = ["n"], to = 16
// CHECK-NEXT: %[[NF:.*]] = "onnx.Cast"(%[[N]]) {{.*}}to = 1
// CHECK-NEXT: %[[Y:.*]] = "onnx.Relu"(%[[NF]]) {{.*}}"y_exact"
// CHECK-NEXT: %[[YL:.*]] = "onnx.Cast"(%[[Y]]) {{.*}}onnx.results = ["y"], to = 16
// CHECK-NEXT: onnx.yield %[[YL]] : tensor<2x2xbf16>
module @nodes attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xbf16>):
    %w = onnx.initializer "w" dense<1.5> : tensor<2x2xbf16> : tensor<2x2xbf16>
    %0 = "onnx.MatMul"(%x, %w) {onnx.results = ["a"]} : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xbf16>
    %1 = "onnx.Cast"(%0) {onnx.results = ["b"], to = 1 : i64} : (tensor<2x2xbf16>) -> tensor<2x2xf32>
    %2 = "onnx.Softmax"(%1) {onnx.results = ["c"]} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = "onnx.Cast"(%2) {onnx.results = ["n"], to = 16 : i64} : (tensor<2x2xf32>) -> tensor<2x2xbf16>
    %4 = "onnx.Relu"(%3) {onnx.results = ["y"]} : (tensor<2x2xbf16>) -> tensor<2x2xbf16>
    onnx.yield %4 : tensor<2x2xbf16> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A rounded big constant is rounded and widened while it is written; dtype
// attributes follow; sequences and subgraphs hold f32.
// CHECK-LABEL: @others
// CHECK: onnx.initializer "w" #onnx.cast_elements<#onnx.cast_elements<dense_resource<w> : tensor<2xf32>> : tensor<2xf16>> : tensor<2xf32>
// CHECK: "onnx.RandomNormal"() {dtype = 1 : i64
// CHECK: "onnx.SequenceConstruct"{{.*}} -> !onnx.seq<tensor<2xf32>>
// CHECK: "onnx.Loop"
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<i1>, %{{.*}}: tensor<2xf32>):
// CHECK: (tensor<i64>, tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
// CHECK: %[[F:.*]] = "onnx.Cast"({{.*}}to = 10 : i64} : (tensor<2xf32>) -> tensor<2xf16>
// CHECK-NEXT: onnx.custom "my" "Frob"(%[[F]]){{.*}}(tensor<2xf16>) -> tensor<2xf16>
// CHECK-NEXT: "onnx.Cast"{{.*}} : (tensor<2xf16>) -> tensor<2xf32>
// CHECK: onnx.yield {{.*}} tensor<2xf32>
module @others attributes {onnx.opset_import = [["", 17], ["my", 1]]} {
  onnx.graph {
  ^bb0(%n: tensor<i64>, %c: tensor<i1>):
    %big = onnx.initializer "w" dense_resource<w> : tensor<2xf32> : tensor<2xf32>
    %w = "onnx.Cast"(%big) {mp.inserted, to = 10 : i64} : (tensor<2xf32>) -> tensor<2xf16>
    %r = "onnx.RandomNormal"() {dtype = 10 : i64, shape = array<i64: 2>} : () -> tensor<2xf16>
    %s = "onnx.SequenceConstruct"(%r) : (tensor<2xf16>) -> !onnx.seq<tensor<2xf16>>
    %e = "onnx.SequenceAt"(%s, %n) : (!onnx.seq<tensor<2xf16>>, tensor<i64>) -> tensor<2xf16>
    %l = "onnx.Loop"(%n, %c, %e) ({
    ^bb0(%i: tensor<i64>, %k: tensor<i1>, %v: tensor<2xf16>):
      %m = "onnx.Mul"(%v, %w) : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
      onnx.yield %k, %m : tensor<i1>, tensor<2xf16>
    }) {onnx.regions = ["body"]} : (tensor<i64>, tensor<i1>, tensor<2xf16>) -> tensor<2xf16>
    %f = onnx.custom "my" "Frob" (%l) : (tensor<2xf16>) -> tensor<2xf16>
    %y = "onnx.Cast"(%f) {to = 1 : i64} : (tensor<2xf16>) -> tensor<2xf32>
    %z = "onnx.Exp"(%y) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %z : tensor<2xf32>
  }
}

{-# dialect_resources: { builtin: { w: "0x040000000000803F0000803F" } } #-}

// -----

// A model without 16-bit values is left alone.
// CHECK-LABEL: @nothing
// CHECK-NOT: onnx.Cast
module @nothing attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %0 = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %0 : tensor<2xf32>
  }
}
