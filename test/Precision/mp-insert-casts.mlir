// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify --mp-assign \
// RUN:   --mp-insert-casts | FileCheck %s

// Once per value and type, right after the value; outputs keep their names.
// CHECK-LABEL: @once
// CHECK-SAME: mp.casts_inserted = 3
// CHECK: ^bb0(%[[X:.*]]: tensor<4x4xf32>):
// CHECK-NEXT: %[[LOW:.*]] = "onnx.Cast"(%[[X]]) {mp.inserted, onnx.name = "x_cast_bf16", onnx.results = ["x_cast_bf16"], to = 16 : i64}
// CHECK-NEXT: %[[A:.*]] = "onnx.MatMul"(%[[LOW]], %[[LOW]]){{.*}} -> tensor<4x4xbf16>
// CHECK-NEXT: %[[WIDE:.*]] = "onnx.Cast"(%[[A]]) {mp.inserted, onnx.name = "a_cast_f32", onnx.results = ["a_cast_f32"], to = 1 : i64}
// CHECK-NEXT: %[[B:.*]] = "onnx.MatMul"(%[[A]], %[[LOW]]){{.*}}onnx.results = ["b_bf16"]
// CHECK-NEXT: %[[OUT:.*]] = "onnx.Cast"(%[[B]]) {mp.inserted, onnx.name = "b_cast_f32", onnx.results = ["b"], to = 1 : i64}
// CHECK-NEXT: %[[C:.*]] = "onnx.Softmax"(%[[WIDE]])
// CHECK-NEXT: %[[D:.*]] = "onnx.Exp"(%[[A]]){{.*}} -> tensor<4x4xbf16>
// CHECK: onnx.yield %[[OUT]], %[[C]]
module @once attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) {onnx.results = ["a"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%0, %x) {onnx.results = ["b"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Softmax"(%0) {onnx.results = ["c"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Exp"(%0) {onnx.results = ["d"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1, %2 : tensor<4x4xf32>, tensor<4x4xf32> {onnx.inputs = [{name = "x"}]}
  }
}

// -----

// A new name is nobody's, node names apart from value names.
// CHECK-LABEL: @names
// CHECK: onnx.name = "x_cast_bf16", onnx.results = ["x_cast_bf16_1"]
// CHECK: onnx.results = ["x_cast_bf16"]
// CHECK: onnx.name = "x_cast_bf16_cast_f32_1", onnx.results = ["x_cast_bf16_cast_f32"]
module @names attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) {onnx.results = ["x_cast_bf16"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Softmax"(%0) {onnx.name = "x_cast_bf16_cast_f32", onnx.results = ["c"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1 : tensor<4x4xf32> {onnx.inputs = [{name = "x"}]}
  }
}

// -----

// Both branches capture one cast made outside, and yield what the result is.
// CHECK-LABEL: @captured
// CHECK-SAME: mp.casts_inserted = 2
// CHECK: %[[LOW:.*]] = "onnx.Cast"(%{{.*}}to = 16
// CHECK-NEXT: %[[IF:.*]] = "onnx.If"
// CHECK: %[[T:.*]] = "onnx.MatMul"(%[[LOW]], %[[LOW]]){{.*}}onnx.results = ["t"]
// CHECK-NEXT: onnx.yield %[[T]] : tensor<4x4xbf16>
// CHECK: %[[E:.*]] = "onnx.MatMul"(%[[LOW]], %[[LOW]])
// CHECK-NEXT: onnx.yield %[[E]] : tensor<4x4xbf16>
// CHECK: (tensor<i1>) -> tensor<4x4xbf16>
// CHECK-NEXT: "onnx.Cast"(%[[IF]]){{.*}}to = 1
module @captured attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%c: tensor<i1>, %x: tensor<4x4xf32>):
    %0 = "onnx.If"(%c) ({
      %t = "onnx.MatMul"(%x, %x) {onnx.results = ["t"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %t : tensor<4x4xf32>
    }, {
      %e = "onnx.MatMul"(%x, %x) {onnx.results = ["e"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %e : tensor<4x4xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["y"]} : (tensor<i1>) -> tensor<4x4xf32>
    onnx.yield %0 : tensor<4x4xf32>
  }
}

// -----

// A state that nothing accumulates in takes the type that costs least.
// CHECK-LABEL: @loop
// CHECK: "onnx.Loop"(%{{.*}}, %{{.*}}, %{{.*}}) ({
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<i1>, %[[STATE:.*]]: tensor<4x4xbf16>):
// CHECK-NEXT: "onnx.MatMul"(%[[STATE]], %[[STATE]])
// CHECK: onnx.yield %{{.*}}, %{{.*}} : tensor<i1>, tensor<4x4xbf16>
// CHECK: (tensor<i64>, tensor<i1>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
module @loop attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4x4xf32>):
    %0 = "onnx.Loop"(%n, %c, %x) ({
    ^bb0(%i: tensor<i64>, %k: tensor<i1>, %s: tensor<4x4xf32>):
      %m = "onnx.MatMul"(%s, %s) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %k, %m : tensor<i1>, tensor<4x4xf32>
    }) {onnx.regions = ["body"], onnx.results = ["y"]} : (tensor<i64>, tensor<i1>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0 : tensor<4x4xf32>
  }
}

// -----

// Only the primary type variable: Resize's scales, BatchNormalization's
// statistics and Dropout's ratio keep their types; custom ops get f32.
// CHECK-LABEL: @other_variables
// CHECK: "onnx.Resize"({{.*}}(tensor<1x1x4x4xbf16>, none, tensor<4xf32>) -> tensor<1x1x4x4xbf16>
// CHECK: "onnx.BatchNormalization"({{.*}}(tensor<1x1x4x4xbf16>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xbf16>
// CHECK: "onnx.Dropout"({{.*}}(tensor<1x1x4x4xbf16>, tensor<f32>, none) -> tensor<1x1x4x4xbf16>
// CHECK: onnx.custom "my" "Frob"({{.*}}(tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
module @other_variables attributes {onnx.opset_import = [["", 17], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>, %scales: tensor<4xf32>, %s: tensor<1xf32>, %r: tensor<f32>):
    %absent = onnx.absent
    %0 = "onnx.MatMul"(%x, %x) : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
    %1 = "onnx.Resize"(%0, %absent, %scales) : (tensor<1x1x4x4xf32>, none, tensor<4xf32>) -> tensor<1x1x4x4xf32>
    %2 = "onnx.BatchNormalization"(%1, %s, %s, %s, %s) : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
    %3 = "onnx.Dropout"(%2, %r, %absent) : (tensor<1x1x4x4xf32>, tensor<f32>, none) -> tensor<1x1x4x4xf32>
    %4 = onnx.custom "my" "Frob" (%3) : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
    onnx.yield %4 : tensor<1x1x4x4xf32>
  }
}

// -----

// Attention's values have a type variable of their own, and go along.
// CHECK-LABEL: @attention
// CHECK: "onnx.Attention"({{.*}}(tensor<1x2x4x8xbf16>, tensor<1x2x4x8xbf16>, tensor<1x2x4x8xbf16>, tensor<4x4xf32>) -> tensor<1x2x4x8xbf16>
module @attention attributes {onnx.opset_import = [["", 23]]} {
  onnx.graph {
  ^bb0(%q: tensor<1x2x4x8xf32>, %mask: tensor<4x4xf32>):
    %0 = "onnx.Attention"(%q, %q, %q, %mask) : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xf32>) -> tensor<1x2x4x8xf32>
    onnx.yield %0 : tensor<1x2x4x8xf32>
  }
}
