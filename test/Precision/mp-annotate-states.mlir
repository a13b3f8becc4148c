// RUN: mp-opt %s --split-input-file --mp-annotate-states | FileCheck %s

// Every node between a state and its next value, not what only reads it, nor
// what only goes into it.
// CHECK-LABEL: @decayed_sum
// CHECK: "onnx.Scan"
// CHECK: "onnx.Mul"{{.*}}mp.hazard = #mp.hazard<"iterations accumulate in 's' through it">
// CHECK-NEXT: "onnx.Tanh"
// CHECK-NOT: mp.hazard
// CHECK-SAME: :
// CHECK-NEXT: "onnx.Add"{{.*}}mp.hazard = #mp.hazard<"iterations accumulate in 's' through it">
// CHECK-NEXT: "onnx.Exp"
// CHECK-NOT: mp.hazard
module @decayed_sum attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%s0: tensor<4xf32>, %x: tensor<9x4xf32>):
    %d = onnx.initializer "d" dense<0.99> : tensor<f32> : tensor<f32>
    %0:2 = "onnx.Scan"(%s0, %x) ({
    ^bb0(%s: tensor<4xf32>, %e: tensor<4xf32>):
      %1 = "onnx.Mul"(%s, %d) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %2 = "onnx.Tanh"(%e) : (tensor<4xf32>) -> tensor<4xf32>
      %3 = "onnx.Add"(%1, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %4 = "onnx.Exp"(%3) : (tensor<4xf32>) -> tensor<4xf32>
      onnx.yield %3, %4 : tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "s"}, {name = "e"}]}
    }) {num_scan_inputs = 1 : i64, onnx.regions = ["body"]} : (tensor<4xf32>, tensor<9x4xf32>) -> (tensor<4xf32>, tensor<9x4xf32>)
    onnx.yield %0#0, %0#1 : tensor<4xf32>, tensor<9x4xf32>
  }
}

// -----

// A product ends the cycle, and movement alone accumulates nothing.
// CHECK-LABEL: @recomputed
// CHECK-NOT: mp.hazard
module @recomputed attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%h0: tensor<4x4xf32>, %x: tensor<9x4x4xf32>):
    %0:2 = "onnx.Scan"(%h0, %h0, %x) ({
    ^bb0(%h: tensor<4x4xf32>, %m: tensor<4x4xf32>, %e: tensor<4x4xf32>):
      %1 = "onnx.MatMul"(%h, %e) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %2 = "onnx.Tanh"(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
      %3 = "onnx.Transpose"(%m) {perm = [1, 0]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %2, %3 : tensor<4x4xf32>, tensor<4x4xf32> {onnx.inputs = [{name = "h"}, {name = "m"}, {name = "e"}]}
    }) {num_scan_inputs = 1 : i64, onnx.regions = ["body"]} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<9x4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
    onnx.yield %0#0, %0#1 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// Two states that feed each other, one of them through an If.
// CHECK-LABEL: @pair
// CHECK: "onnx.Sub"{{.*}}mp.hazard
// CHECK: "onnx.If"
// CHECK: "onnx.Mul"{{.*}}mp.hazard
module @pair attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4xf32>):
    %0:2 = "onnx.Loop"(%n, %c, %x, %x) ({
    ^bb0(%i: tensor<i64>, %k: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>):
      %1 = "onnx.Sub"(%b, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %2 = "onnx.If"(%k) ({
        %3 = "onnx.Mul"(%a, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        onnx.yield %3 : tensor<4xf32>
      }, {
        onnx.yield %a : tensor<4xf32>
      }) {onnx.regions = ["then_branch", "else_branch"]} : (tensor<i1>) -> tensor<4xf32>
      onnx.yield %k, %1, %2 : tensor<i1>, tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "i"}, {name = "k"}, {name = "a"}, {name = "b"}]}
    }) {onnx.regions = ["body"]} : (tensor<i64>, tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    onnx.yield %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// A function that the body calls: its nodes are marked one by one, not the
// call, so that its product stays free.
// CHECK-LABEL: @called
// CHECK-NOT: mp.hazard
// CHECK: onnx.function
// CHECK: "onnx.MatMul"
// CHECK-NOT: mp.hazard
// CHECK: "onnx.Add"{{.*}}mp.hazard = #mp.hazard<"iterations accumulate in 's' through it">
module @called attributes {onnx.opset_import = [["", 17], ["my", 1]]} {
  onnx.graph {
  ^bb0(%s0: tensor<4x4xf32>, %x: tensor<9x4x4xf32>):
    %0 = "onnx.Scan"(%s0, %x) ({
    ^bb0(%s: tensor<4x4xf32>, %e: tensor<4x4xf32>):
      %1 = onnx.custom "my" "Step"(%s, %e) attributes {mp.callee = "Step_1"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %1 : tensor<4x4xf32> {onnx.inputs = [{name = "s"}, {name = "e"}]}
    }) {num_scan_inputs = 1 : i64, onnx.regions = ["body"]} : (tensor<4x4xf32>, tensor<9x4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0 : tensor<4x4xf32>
  }
  onnx.function "my" "Step_1" attributes {mp.specialized = "Step", onnx.opset_import = [["", 17]]} {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
    %p = "onnx.MatMul"(%b, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %d = "onnx.Add"(%a, %p) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %d : tensor<4x4xf32>
  }
}
