// RUN: mp-opt %s --split-input-file --mp-simplify-casts | FileCheck %s

// Narrowing what was widened gives the value back; widening what was narrowed
// has rounded it, and stays. The model's own casts stay as well.
// CHECK-LABEL: @cancel
// CHECK-SAME: mp.casts_removed = 2
// CHECK: ^bb0(%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xbf16>):
// CHECK-NEXT: %[[LOW:.*]] = "onnx.Cast"(%[[X]]){{.*}}to = 16
// CHECK-NEXT: %[[ROUNDED:.*]] = "onnx.Cast"(%[[LOW]]){{.*}}to = 1
// CHECK-NEXT: %[[USERS:.*]] = "onnx.Cast"(%[[Y]]) {to = 1
// CHECK-NEXT: %[[BACK:.*]] = "onnx.Cast"(%[[USERS]]){{.*}}to = 16
// CHECK-NEXT: onnx.yield %[[ROUNDED]], %[[Y]], %[[BACK]]
module @cancel attributes {mp.policy = #mp.policy<bf16>, onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xbf16>):
    %0 = "onnx.Cast"(%x) {mp.inserted, to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    %1 = "onnx.Cast"(%0) {mp.inserted, to = 1 : i64} : (tensor<4xbf16>) -> tensor<4xf32>
    %2 = "onnx.Cast"(%y) {mp.inserted, to = 1 : i64} : (tensor<4xbf16>) -> tensor<4xf32>
    %3 = "onnx.Cast"(%2) {mp.inserted, to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    %4 = "onnx.Cast"(%y) {to = 1 : i64} : (tensor<4xbf16>) -> tensor<4xf32>
    %5 = "onnx.Cast"(%4) {mp.inserted, to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    onnx.yield %1, %3, %5 : tensor<4xf32>, tensor<4xbf16>, tensor<4xbf16>
  }
}

// -----

// A cast from integers or truth values yields 16 bit itself if only that is
// wanted; with another user, and from floats, it stays.
// CHECK-LABEL: @merge
// CHECK-SAME: mp.casts_removed = 2
// CHECK: ^bb0(%[[B:.*]]: tensor<4xi1>, %[[N:.*]]: tensor<4xi64>, %[[D:.*]]: tensor<4xf64>, %[[H:.*]]: tensor<4xf16>):
// CHECK-NEXT: %[[MASK:.*]] = "onnx.Cast"(%[[B]]) {mp.precision = #mp.precision<bf16, reason = "a cast merged into it">, onnx.node_name = "mask", onnx.results = ["m"], to = 16 : i64} : (tensor<4xi1>) -> tensor<4xbf16>
// CHECK-NEXT: %[[COUNT:.*]] = "onnx.Cast"(%[[N]]) {to = 16 : i64} : (tensor<4xi64>) -> tensor<4xbf16>
// CHECK-NEXT: %[[BOTH:.*]] = "onnx.Cast"(%[[N]]) {to = 1 : i64} : (tensor<4xi64>) -> tensor<4xf32>
// CHECK-NEXT: %[[LOW:.*]] = "onnx.Cast"(%[[BOTH]])
// CHECK-NEXT: %[[WIDE:.*]] = "onnx.Cast"(%[[D]])
// CHECK-NEXT: %[[TWICE:.*]] = "onnx.Cast"(%[[WIDE]])
// CHECK-NEXT: %[[HALF:.*]] = "onnx.Cast"(%[[H]]) {to = 1 : i64} : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT: %[[OTHER:.*]] = "onnx.Cast"(%[[HALF]])
// CHECK-NEXT: onnx.yield %[[MASK]], %[[COUNT]], %[[BOTH]], %[[LOW]], %[[TWICE]], %[[OTHER]]
module @merge attributes {mp.policy = #mp.policy<bf16>, onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%b: tensor<4xi1>, %n: tensor<4xi64>, %d: tensor<4xf64>, %h: tensor<4xf16>):
    %0 = "onnx.Cast"(%b) {mp.precision = #mp.precision<f32, reason = "tied">, onnx.node_name = "mask", onnx.results = ["m"], to = 1 : i64} : (tensor<4xi1>) -> tensor<4xf32>
    %1 = "onnx.Cast"(%0) {mp.inserted, to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    %2 = "onnx.Cast"(%n) {to = 1 : i64} : (tensor<4xi64>) -> tensor<4xf32>
    %3 = "onnx.Cast"(%2) {mp.inserted, to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    %4 = "onnx.Cast"(%n) {to = 1 : i64} : (tensor<4xi64>) -> tensor<4xf32>
    %5 = "onnx.Cast"(%4) {mp.inserted, to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    %6 = "onnx.Cast"(%d) {to = 1 : i64} : (tensor<4xf64>) -> tensor<4xf32>
    %7 = "onnx.Cast"(%6) {mp.inserted, to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    %8 = "onnx.Cast"(%h) {to = 1 : i64} : (tensor<4xf16>) -> tensor<4xf32>
    %9 = "onnx.Cast"(%8) {mp.inserted, to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    onnx.yield %1, %3, %4, %5, %7, %9 : tensor<4xbf16>, tensor<4xbf16>, tensor<4xf32>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>
  }
}

// -----

// Above data movement that grows its operand, or whose operand is cast
// already; not above one that the user denied.
// CHECK-LABEL: @hoist
// CHECK-SAME: mp.casts_removed = 1
// CHECK: ^bb0(%[[X:.*]]: tensor<1x4xf32>, %[[S:.*]]: tensor<2xi64>):
// CHECK-NEXT: %[[LOW:.*]] = "onnx.Cast"(%[[X]]){{.*}}(tensor<1x4xf32>) -> tensor<1x4xbf16>
// CHECK-NEXT: %[[BIG:.*]] = "onnx.Expand"(%[[LOW]], %[[S]]){{.*}}mp.precision = #mp.precision<bf16{{.*}} -> tensor<8x4xbf16>
// CHECK-NEXT: %[[T:.*]] = "onnx.Transpose"(%[[LOW]]){{.*}} -> tensor<4x1xbf16>
// CHECK-NEXT: %[[DENIED:.*]] = "onnx.Transpose"(%[[X]]){{.*}} -> tensor<4x1xf32>
// CHECK-NEXT: %[[LATE:.*]] = "onnx.Cast"(%[[DENIED]])
// CHECK-NEXT: onnx.yield %[[BIG]], %[[T]], %[[LATE]]
module @hoist attributes {mp.policy = #mp.policy<bf16>, onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x4xf32>, %s: tensor<2xi64>):
    %0 = "onnx.Expand"(%x, %s) {mp.precision = #mp.precision<f32, reason = "its first operand is f32">} : (tensor<1x4xf32>, tensor<2xi64>) -> tensor<8x4xf32>
    %1 = "onnx.Cast"(%0) {mp.inserted, to = 16 : i64} : (tensor<8x4xf32>) -> tensor<8x4xbf16>
    %2 = "onnx.Transpose"(%x) {mp.precision = #mp.precision<f32, reason = "its first operand is f32">} : (tensor<1x4xf32>) -> tensor<4x1xf32>
    %3 = "onnx.Cast"(%2) {mp.inserted, to = 16 : i64} : (tensor<4x1xf32>) -> tensor<4x1xbf16>
    %4 = "onnx.Transpose"(%x) {mp.precision = #mp.precision<f32, reason = "user's list">} : (tensor<1x4xf32>) -> tensor<4x1xf32>
    %5 = "onnx.Cast"(%4) {mp.inserted, to = 16 : i64} : (tensor<4x1xf32>) -> tensor<4x1xbf16>
    onnx.yield %1, %3, %5 : tensor<8x4xbf16>, tensor<4x1xbf16>, tensor<4x1xbf16>
  }
}

// -----

// Data movement that others need in f32, or that does not grow, stays.
// CHECK-LABEL: @stay
// CHECK: "onnx.Expand"({{.*}} -> tensor<8x4xf32>
// CHECK: "onnx.Slice"({{.*}} -> tensor<1x4xf32>
module @stay attributes {mp.policy = #mp.policy<bf16>, onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x4xf32>, %y: tensor<8x4xf32>, %s: tensor<2xi64>, %i: tensor<1xi64>):
    %0 = "onnx.Expand"(%x, %s) {mp.precision = #mp.precision<f32, reason = "its first operand is f32">} : (tensor<1x4xf32>, tensor<2xi64>) -> tensor<8x4xf32>
    %1 = "onnx.Cast"(%0) {mp.inserted, to = 16 : i64} : (tensor<8x4xf32>) -> tensor<8x4xbf16>
    %2 = "onnx.Slice"(%y, %i, %i) {mp.precision = #mp.precision<f32, reason = "its first operand is f32">} : (tensor<8x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4xf32>
    %3 = "onnx.Cast"(%2) {mp.inserted, to = 16 : i64} : (tensor<1x4xf32>) -> tensor<1x4xbf16>
    onnx.yield %0, %1, %3 : tensor<8x4xf32>, tensor<8x4xbf16>, tensor<1x4xbf16>
  }
}
