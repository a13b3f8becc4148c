// RUN: mp-opt %s --split-input-file --onnx-merge-functions | FileCheck %s

// Two clones with one cast each, under other names, are one; a third with
// other types is the next; what is not changed goes back to the original.
// CHECK-LABEL: module @equal
// CHECK-SAME: mp.policy = #mp.policy<bf16>
// CHECK: %[[A:.*]] = onnx.custom "loc" "F_bf16"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK-NEXT: onnx.custom "loc" "F_bf16"(%{{.*}}) :
// CHECK-NEXT: onnx.custom "loc" "F_bf16_2"(%{{.*}}) :
// CHECK-NEXT: onnx.custom "loc" "F"(%{{.*}}) :
// CHECK: onnx.function "loc" "F" {
// CHECK: onnx.function "loc" "F_bf16" {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<4xf32>):
// CHECK-NEXT: "onnx.Cast"
// CHECK-NEXT: "onnx.Exp"
// CHECK: onnx.function "loc" "F_bf16_2" {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<4xbf16>):
// CHECK-NOT: onnx.function
// CHECK-NOT: mp.callee
module @equal attributes {mp.policy = #mp.policy<bf16>} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>, %h: tensor<4xbf16>):
    %0 = onnx.custom "loc" "F"(%x) attributes {mp.callee = "F_1"} : (tensor<4xf32>) -> tensor<4xbf16>
    %1 = onnx.custom "loc" "F"(%x) attributes {mp.callee = "F_2"} : (tensor<4xf32>) -> tensor<4xbf16>
    %2 = onnx.custom "loc" "F"(%h) attributes {mp.callee = "F_3"} : (tensor<4xbf16>) -> tensor<4xf32>
    %3 = onnx.custom "loc" "F"(%x) attributes {mp.callee = "F_4"} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0, %1, %2, %3 : tensor<4xbf16>, tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>
  }
  onnx.function "loc" "F" {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Exp"(%p) {onnx.name = "exp", onnx.results = ["e"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "F_1" attributes {mp.specialized = "F"} {
  ^bb0(%p: tensor<4xf32>):
    %0 = "onnx.Cast"(%p) {mp.inserted, onnx.name = "p_cast", onnx.results = ["p_cast"], to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    %1 = "onnx.Exp"(%0) {onnx.name = "exp", onnx.results = ["e"]} : (tensor<4xbf16>) -> tensor<4xbf16>
    onnx.yield %1 : tensor<4xbf16>
  }
  onnx.function "loc" "F_2" attributes {mp.specialized = "F"} {
  ^bb0(%p: tensor<4xf32>):
    %0 = "onnx.Cast"(%p) {mp.inserted, onnx.name = "p_cast_1", onnx.results = ["p_cast_1"], to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    %1 = "onnx.Exp"(%0) {onnx.name = "exp", onnx.results = ["e"]} : (tensor<4xbf16>) -> tensor<4xbf16>
    onnx.yield %1 : tensor<4xbf16>
  }
  onnx.function "loc" "F_3" attributes {mp.specialized = "F"} {
  ^bb0(%p: tensor<4xbf16>):
    %0 = "onnx.Cast"(%p) {mp.inserted, onnx.name = "p_cast_2", onnx.results = ["p_cast_2"], to = 1 : i64} : (tensor<4xbf16>) -> tensor<4xf32>
    %1 = "onnx.Exp"(%0) {onnx.name = "exp", onnx.results = ["e"]} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %1 : tensor<4xf32>
  }
  onnx.function "loc" "F_4" attributes {mp.specialized = "F"} {
  ^bb0(%p: tensor<4xf32>):
    %0 = "onnx.Exp"(%p) {mp.class = #mp.class<deny>, onnx.name = "exp", onnx.results = ["e"]} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32>
  }
}

// -----

// A body that states no types runs in any precision: no clone is needed. One
// that does keeps its clone.
// CHECK-LABEL: module @polymorphic
// CHECK: onnx.custom "loc" "Free"(%{{.*}}) : (tensor<4xf16>) -> tensor<4xf16>
// CHECK: onnx.custom "loc" "Bound_fp16"(%{{.*}}) : (tensor<4xf16>) -> tensor<4xf16>
// CHECK: onnx.function "loc" "Free"
// CHECK-NOT: "Bound"
// CHECK: onnx.function "loc" "Bound_fp16"
// CHECK-NOT: onnx.function
module @polymorphic attributes {mp.summary = {precision = "fp16"}} {
  onnx.graph {
  ^bb0(%h: tensor<4xf16>):
    %0 = onnx.custom "loc" "Free"(%h) attributes {mp.callee = "Free_1"} : (tensor<4xf16>) -> tensor<4xf16>
    %1 = onnx.custom "loc" "Bound"(%h) attributes {mp.callee = "Bound_1"} : (tensor<4xf16>) -> tensor<4xf16>
    onnx.yield %0, %1 : tensor<4xf16>, tensor<4xf16>
  }
  onnx.function "loc" "Free" {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Relu"(%p) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "Free_1" attributes {mp.specialized = "Free"} {
  ^bb0(%p: tensor<4xf16>):
    %0 = "onnx.Relu"(%p) : (tensor<4xf16>) -> tensor<4xf16>
    onnx.yield %0 : tensor<4xf16>
  }
  onnx.function "loc" "Bound" {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Relu"(%p) : (!onnx.unknown) -> tensor<*xf32>
    onnx.yield %0 : tensor<*xf32>
  }
  onnx.function "loc" "Bound_1" attributes {mp.specialized = "Bound"} {
  ^bb0(%p: tensor<4xf16>):
    %0 = "onnx.Relu"(%p) : (tensor<4xf16>) -> tensor<4xf16>
    onnx.yield %0 : tensor<4xf16>
  }
}

// -----

// Callers of merged clones are equal, of different ones not. A constant in
// another type makes a clone.
// CHECK-LABEL: module @callers
// CHECK: onnx.custom "loc" "A_bf16"
// CHECK-NEXT: onnx.custom "loc" "A_bf16"
// CHECK-NEXT: onnx.custom "loc" "A"(
// CHECK: onnx.function "loc" "A" {
// CHECK: onnx.custom "loc" "B"(
// CHECK: onnx.function "loc" "A_bf16" {
// CHECK: onnx.custom "loc" "B_bf16"(
// CHECK: onnx.function "loc" "B" {
// CHECK: onnx.function "loc" "B_bf16" {
// CHECK-NOT: onnx.function
module @callers attributes {mp.policy = #mp.policy<bf16>} {
  onnx.graph {
  ^bb0(%h: tensor<1xbf16>, %x: tensor<1xf32>):
    %0 = onnx.custom "loc" "A"(%h) attributes {mp.callee = "A_1"} : (tensor<1xbf16>) -> tensor<1xbf16>
    %1 = onnx.custom "loc" "A"(%h) attributes {mp.callee = "A_2"} : (tensor<1xbf16>) -> tensor<1xbf16>
    %2 = onnx.custom "loc" "A"(%x) attributes {mp.callee = "A_3"} : (tensor<1xf32>) -> tensor<1xf32>
    onnx.yield %0, %1, %2 : tensor<1xbf16>, tensor<1xbf16>, tensor<1xf32>
  }
  onnx.function "loc" "A" {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "B"(%p) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "A_1" attributes {mp.specialized = "A"} {
  ^bb0(%p: tensor<1xbf16>):
    %0 = onnx.custom "loc" "B"(%p) attributes {mp.callee = "B_1"} : (tensor<1xbf16>) -> tensor<1xbf16>
    onnx.yield %0 : tensor<1xbf16>
  }
  onnx.function "loc" "A_2" attributes {mp.specialized = "A"} {
  ^bb0(%p: tensor<1xbf16>):
    %0 = onnx.custom "loc" "B"(%p) attributes {mp.callee = "B_2"} : (tensor<1xbf16>) -> tensor<1xbf16>
    onnx.yield %0 : tensor<1xbf16>
  }
  onnx.function "loc" "A_3" attributes {mp.specialized = "A"} {
  ^bb0(%p: tensor<1xf32>):
    %0 = onnx.custom "loc" "B"(%p) attributes {mp.callee = "B_3"} : (tensor<1xf32>) -> tensor<1xf32>
    onnx.yield %0 : tensor<1xf32>
  }
  onnx.function "loc" "B" {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Constant"() {value = dense<1.0> : tensor<1xf32>} : () -> !onnx.unknown
    %1 = "onnx.Add"(%p, %0) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
    onnx.yield %1 : !onnx.unknown
  }
  onnx.function "loc" "B_1" attributes {mp.specialized = "B"} {
  ^bb0(%p: tensor<1xbf16>):
    %0 = "onnx.Constant"() {value = dense<1.0> : tensor<1xbf16>} : () -> tensor<1xbf16>
    %1 = "onnx.Add"(%p, %0) : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<1xbf16>
    onnx.yield %1 : tensor<1xbf16>
  }
  onnx.function "loc" "B_2" attributes {mp.specialized = "B"} {
  ^bb0(%p: tensor<1xbf16>):
    %0 = "onnx.Constant"() {value = dense<1.0> : tensor<1xbf16>} : () -> tensor<1xbf16>
    %1 = "onnx.Add"(%p, %0) : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<1xbf16>
    onnx.yield %1 : tensor<1xbf16>
  }
  onnx.function "loc" "B_3" attributes {mp.specialized = "B"} {
  ^bb0(%p: tensor<1xf32>):
    %0 = "onnx.Constant"() {value = dense<1.0> : tensor<1xf32>} : () -> tensor<1xf32>
    %1 = "onnx.Add"(%p, %0) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    onnx.yield %1 : tensor<1xf32>
  }
}
