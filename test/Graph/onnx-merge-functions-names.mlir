// RUN: mp-opt %s --split-input-file --onnx-merge-functions | FileCheck %s
// RUN: mp-opt %s --split-input-file --onnx-merge-functions=suffix=f32 \
// RUN:   | FileCheck %s --check-prefix=SUFFIX

// Names of functions, of unknown ops and of operators are passed over.
// CHECK-LABEL: module @taken
// CHECK: onnx.custom "loc" "F_bf16_4"
// CHECK: onnx.custom "" "Dropout_bf16"
// CHECK: onnx.function "loc" "F_bf16_4" {
// CHECK: onnx.function "" "Dropout_bf16"
// SUFFIX-LABEL: module @taken
// SUFFIX: onnx.custom "loc" "F_f32"
module @taken attributes {mp.policy = #mp.policy<bf16>} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %0 = onnx.custom "loc" "F"(%x) attributes {mp.callee = "F_1"} : (tensor<4xf32>) -> tensor<4xbf16>
    %1 = onnx.custom "" "Dropout"(%x) attributes {mp.callee = "Dropout_1"} : (tensor<4xf32>) -> tensor<4xbf16>
    %2 = onnx.custom "loc" "F_bf16_2"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0, %1, %2 : tensor<4xbf16>, tensor<4xbf16>, tensor<4xf32>
  }
  onnx.function "loc" "F_bf16" {
  ^bb0(%p: !onnx.unknown):
    onnx.yield %p : !onnx.unknown
  }
  onnx.function "loc" "F_bf16_3" {
  ^bb0(%p: !onnx.unknown):
    onnx.yield %p : !onnx.unknown
  }
  onnx.function "loc" "F" {
  ^bb0(%p: !onnx.unknown):
    onnx.yield %p : !onnx.unknown
  }
  onnx.function "loc" "F_1" attributes {mp.specialized = "F"} {
  ^bb0(%p: tensor<4xf32>):
    %0 = "onnx.Cast"(%p) {to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    onnx.yield %0 : tensor<4xbf16>
  }
  onnx.function "" "Dropout" {
  ^bb0(%p: !onnx.unknown):
    onnx.yield %p : !onnx.unknown
  }
  onnx.function "" "Dropout_1" attributes {mp.specialized = "Dropout"} {
  ^bb0(%p: tensor<4xf32>):
    %0 = "onnx.Cast"(%p) {to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    onnx.yield %0 : tensor<4xbf16>
  }
}

// -----

// What was called and is no more goes, with what only it calls. What nobody
// called stays, and what training calls.
// CHECK-LABEL: module @dropped
// CHECK-NOT: onnx.function "loc" "Used"
// CHECK-NOT: onnx.function "loc" "Below"
// CHECK: onnx.function "loc" "Unused"
// CHECK: onnx.function "loc" "BelowUnused"
// CHECK: onnx.function "loc" "Trained" {
// CHECK: onnx.function "loc" "Trained_bf16"
module @dropped attributes {mp.policy = #mp.policy<bf16>} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %0 = onnx.custom "loc" "Used"(%x) attributes {mp.callee = "Used_1"} : (tensor<4xf32>) -> tensor<4xbf16>
    %1 = onnx.custom "loc" "Trained"(%x) attributes {mp.callee = "Trained_1"} : (tensor<4xf32>) -> tensor<4xbf16>
    onnx.yield %0, %1 : tensor<4xbf16>, tensor<4xbf16>
  }
  onnx.training initialization {
  } algorithm {
    %0 = onnx.outer "y" : !onnx.unknown
    %1 = onnx.custom "loc" "Trained"(%0) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %1 : !onnx.unknown
  }
  onnx.function "loc" "Used" {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "Below"(%p) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "Used_1" attributes {mp.specialized = "Used"} {
  ^bb0(%p: tensor<4xf32>):
    %0 = "onnx.Cast"(%p) {to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    onnx.yield %0 : tensor<4xbf16>
  }
  onnx.function "loc" "Below" {
  ^bb0(%p: !onnx.unknown):
    onnx.yield %p : !onnx.unknown
  }
  onnx.function "loc" "Unused" {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "BelowUnused"(%p) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "BelowUnused" {
  ^bb0(%p: !onnx.unknown):
    onnx.yield %p : !onnx.unknown
  }
  onnx.function "loc" "Trained" {
  ^bb0(%p: !onnx.unknown):
    onnx.yield %p : !onnx.unknown
  }
  onnx.function "loc" "Trained_1" attributes {mp.specialized = "Trained"} {
  ^bb0(%p: tensor<4xf32>):
    %0 = "onnx.Cast"(%p) {to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    onnx.yield %0 : tensor<4xbf16>
  }
}

// -----

// Marks that fit nothing are no reason to stop.
// CHECK-LABEL: module @stray
// CHECK: onnx.custom "loc" "F"(
// CHECK: onnx.function "loc" "Ghost_typed"
module @stray {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %0 = onnx.custom "loc" "F"(%x) attributes {mp.callee = "Nobody", mp.untyped = [f32, i1, i1]} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = onnx.custom "loc" "F"(%x) attributes {mp.callee = "Orphan"} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  onnx.function "loc" "Orphan" attributes {mp.specialized = "Ghost"} {
  ^bb0(%p: tensor<4xf32>):
    %0 = onnx.custom "loc" "F"(%p) attributes {mp.callee = "Orphan"} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32>
  }
}

// -----

// Types are as import told them, but element types that have changed stay.
// CHECK-LABEL: module @types
// CHECK: "loc" "F"(%{{.*}}) : (tensor<4xbf16>) -> !onnx.unknown
// CHECK: "onnx.Cast"(%{{.*}}) {to = 1 : i64} : (!onnx.unknown) -> tensor<*xf32>
// CHECK: "onnx.Exp"(%{{.*}}) : (!onnx.unknown) -> tensor<4xbf16>
module @types {
  onnx.graph {
  ^bb0(%x: tensor<4xbf16>):
    %0 = onnx.custom "loc" "F"(%x) attributes {mp.untyped = [!onnx.unknown]} : (tensor<4xbf16>) -> tensor<4xbf16>
    %1 = "onnx.Cast"(%0) {mp.untyped = [tensor<*xf32>], to = 1 : i64} : (tensor<4xbf16>) -> tensor<4xf32>
    %2 = "onnx.Exp"(%0) {mp.untyped = [tensor<*xf32>]} : (tensor<4xbf16>) -> tensor<4xbf16>
    onnx.yield %1, %2 : tensor<4xf32>, tensor<4xbf16>
  }
  onnx.function "loc" "F" {
  ^bb0(%p: !onnx.unknown):
    onnx.yield %p : !onnx.unknown
  }
}
