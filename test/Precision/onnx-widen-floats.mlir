// RUN: mp-opt %s --split-input-file --onnx-widen-floats | FileCheck %s

// Inputs, defaults, constants, values and outputs; names stay.
// CHECK-LABEL: @values
// CHECK: ^bb0(%[[X:.*]]: tensor<2x2xf64>, %[[N:.*]]: tensor<2xi64>):
// CHECK-NEXT: onnx.initializer "x" dense<2.500000e-01> : tensor<2x2xf64> overridable
// CHECK-NEXT: %[[W:.*]] = onnx.initializer "w" dense<1.500000e+00> : tensor<2x2xf64>
// CHECK-NEXT: %[[B:.*]] = onnx.initializer "big" dense_resource<wide> : tensor<2xf64>
// CHECK-NEXT: %[[A:.*]] = "onnx.MatMul"(%[[X]], %[[W]]) {onnx.results = ["a"]} {{.*}} -> tensor<2x2xf64>
// CHECK-NEXT: %[[C:.*]] = "onnx.Cast"(%[[N]]) {onnx.results = ["c"], to = 11 : i64} : (tensor<2xi64>) -> tensor<2xf64>
// CHECK-NEXT: %[[Y:.*]] = "onnx.Add"(%[[A]], %[[C]])
// CHECK-NEXT: onnx.yield %[[Y]], %[[N]] : tensor<2x2xf64>, tensor<2xi64>
// CHECK: wide: "0x08000000000000000000F03F0000000000000040"
module @values attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>, %n: tensor<2xi64>):
    %d = onnx.initializer "x" dense<0.25> : tensor<2x2xf32> overridable : tensor<2x2xf32>
    %w = onnx.initializer "w" dense<1.5> : tensor<2x2xf32> : tensor<2x2xf32>
    %b = onnx.initializer "big" dense_resource<b> : tensor<2xf32> : tensor<2xf32>
    %a = "onnx.MatMul"(%x, %w) {onnx.results = ["a"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %c = "onnx.Cast"(%n) {onnx.results = ["c"], to = 10 : i64} : (tensor<2xi64>) -> tensor<2xf32>
    %y = "onnx.Add"(%a, %c) {onnx.results = ["y"]} : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    onnx.yield %y, %n : tensor<2x2xf32>, tensor<2xi64> {onnx.inputs = [{name = "x"}, {name = "n"}], onnx.outputs = [{name = "y"}, {name = "n"}]}
  }
}

{-#
  dialect_resources: { builtin: { b: "0x040000000000803F00000040" } }
#-}

// -----

// Scales of Resize are fp32 whatever the data are; what nobody described
// keeps its types, and the reference takes over its name.
// CHECK-LABEL: @kept
// CHECK: %[[S:.*]] = onnx.initializer "s" dense<2.000000e+00> : tensor<4xf64>
// CHECK-NEXT: %[[F:.*]] = "onnx.Cast"(%[[S]]) {{.*}}to = 1 : i64} : (tensor<4xf64>) -> tensor<4xf32>
// CHECK: "onnx.Resize"(%{{.*}}, %{{.*}}, %[[F]]) {{.*}} : (tensor<1x1x2x2xf64>, none, tensor<4xf32>) -> tensor<1x1x4x4xf64>
// CHECK: %[[R:.*]] = "onnx.Cast"(%{{.*}}to = 1 : i64}
// CHECK: %[[U:.*]] = onnx.custom "my" "Frob"(%[[R]]) {{.*}}"u_narrow"{{.*}}(tensor<1x1x4x4xf32>) -> tensor<4xf32>
// CHECK: "onnx.Cast"(%[[U]]) {{.*}}onnx.results = ["u"], to = 11 : i64} : (tensor<4xf32>) -> tensor<4xf64>
module @kept attributes {onnx.opset_import = [["", 17], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x2x2xf32>):
    %s = onnx.initializer "s" dense<2.0> : tensor<4xf32> : tensor<4xf32>
    %none = onnx.absent
    %r = "onnx.Resize"(%x, %none, %s) {onnx.results = ["r"]} : (tensor<1x1x2x2xf32>, none, tensor<4xf32>) -> tensor<1x1x4x4xf32>
    %u = onnx.custom "my" "Frob" (%r) attributes {onnx.results = ["u"]} : (tensor<1x1x4x4xf32>) -> tensor<4xf32>
    onnx.yield %u : tensor<4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "u"}]}
  }
}

// -----

// Subgraphs and sequences; statistics of a normalization.
// CHECK-LABEL: @nested
// CHECK: "onnx.LayerNormalization"{{.*}}stash_type = 11
// CHECK: "onnx.Loop"
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<i1>, %{{.*}}: tensor<2xf64>):
// CHECK: "onnx.SequenceConstruct"{{.*}} -> !onnx.seq<tensor<2xf64>>
module @nested attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<2xf16>):
    %z = "onnx.LayerNormalization"(%x, %x) {stash_type = 1 : i64} : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
    %l = "onnx.Loop"(%n, %c, %z) ({
    ^bb0(%i: tensor<i64>, %k: tensor<i1>, %v: tensor<2xf16>):
      %m = "onnx.Mul"(%v, %z) : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
      onnx.yield %k, %m : tensor<i1>, tensor<2xf16>
    }) {onnx.regions = ["body"]} : (tensor<i64>, tensor<i1>, tensor<2xf16>) -> tensor<2xf16>
    %s = "onnx.SequenceConstruct"(%l) : (tensor<2xf16>) -> !onnx.seq<tensor<2xf16>>
    onnx.yield %s : !onnx.seq<tensor<2xf16>>
  }
}

// -----

// BitCast reads the bits of the type that its operand had.
// CHECK-LABEL: @bits
// CHECK: %[[F:.*]] = "onnx.Cast"(%{{.*}}to = 1 : i64} : (tensor<2xf64>) -> tensor<2xf32>
// CHECK: %[[I:.*]] = "onnx.BitCast"(%[[F]]) {{.*}}to = 6 : i64} : (tensor<2xf32>) -> tensor<2xi32>
// CHECK: %[[B:.*]] = "onnx.BitCast"(%[[I]]) {{.*}}to = 1 : i64} : (tensor<2xi32>) -> tensor<2xf32>
// CHECK: "onnx.Cast"(%[[B]]) {{.*}}to = 11 : i64} : (tensor<2xf32>) -> tensor<2xf64>
module @bits attributes {onnx.opset_import = [["", 26]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %i = "onnx.BitCast"(%x) {onnx.results = ["i"], to = 6 : i64} : (tensor<2xf32>) -> tensor<2xi32>
    %y = "onnx.BitCast"(%i) {onnx.results = ["y"], to = 1 : i64} : (tensor<2xi32>) -> tensor<2xf32>
    onnx.yield %y : tensor<2xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
