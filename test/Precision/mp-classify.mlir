// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify \
// RUN:   | FileCheck %s --check-prefix=FP16
// RUN: mp-opt %s --split-input-file \
// RUN:     --mp-set-policy="deny=MatMul,com.microsoft.Gelu promote=Relu allow=Celu" --mp-classify \
// RUN:   | FileCheck %s --check-prefix=LISTS

// Built-in lists; what is on none follows. bf16 has the range for Exp.
// CHECK-LABEL: @lists
// CHECK-SAME: mp.policy = #mp.policy<bf16>
// CHECK: "onnx.MatMul"{{.*}}mp.class = #mp.class<allow, reason = "built-in list"
// CHECK: "onnx.Add"{{.*}}mp.class = #mp.class<promote, reason = "built-in list"
// CHECK: "onnx.Relu"{{.*}}mp.class = #mp.class<follow, reason = "on no list"
// CHECK: "onnx.Exp"{{.*}}mp.class = #mp.class<follow, reason = "on no list"
// CHECK: "onnx.Softmax"{{.*}}mp.class = #mp.class<deny, reason = "built-in list: sums of exponentials, of which 16 bit loses small terms"
// CHECK: "onnx.com.microsoft.Gelu"{{.*}}mp.class = #mp.class<follow
// FP16-LABEL: @lists
// FP16-SAME: mp.policy = #mp.policy<f16,
// FP16: "onnx.Exp"{{.*}}mp.class = #mp.class<deny, reason = "built-in list: its results leave the range of fp16"
// LISTS-LABEL: @lists
// LISTS: "onnx.MatMul"{{.*}}mp.class = #mp.class<deny, reason = "user's list"
// LISTS: "onnx.Relu"{{.*}}mp.class = #mp.class<promote, reason = "user's list"
// LISTS: "onnx.com.microsoft.Gelu"{{.*}}mp.class = #mp.class<deny, reason = "user's list"
module @lists attributes {onnx.opset_import = [["", 17], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) {onnx.results = ["a"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Add"(%0, %x) {onnx.results = ["b"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Relu"(%1) {onnx.results = ["c"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Exp"(%2) {onnx.results = ["d"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.Softmax"(%3) {onnx.results = ["e"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = "onnx.com.microsoft.Gelu"(%4) {onnx.results = ["f"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %6 = onnx.custom "my" "Frob" (%5) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %6 : tensor<4x4xf32>
  }
}

// -----

// What no list may have: custom ops, and calls of functions that are not
// specialized. Control flow and sequences join values, and have no opinion; ops
// inside a subgraph have their own class.
// CHECK-LABEL: @structure
// CHECK: "onnx.If"
// CHECK: "onnx.MatMul"{{.*}}mp.class = #mp.class<allow
// CHECK: mp.class = #mp.class<follow, reason = "on no list"
// CHECK: onnx.custom "my" "Frob"{{.*}}mp.class = #mp.class<deny, reason = "custom op"
// CHECK: onnx.custom "my" "Twice"{{.*}}mp.class = #mp.class<deny, reason = "function call"
// CHECK: "onnx.SequenceConstruct"{{.*}}mp.class = #mp.class<follow, reason = "on no list"
// CHECK: "onnx.SequenceAt"{{.*}}mp.class = #mp.class<follow, reason = "on no list"
// CHECK: onnx.function
// CHECK-NOT: mp.class
// LISTS-LABEL: @structure
// LISTS: onnx.custom "my" "Frob"{{.*}}mp.class = #mp.class<deny, reason = "custom op"
module @structure attributes {onnx.opset_import = [["", 17], ["my", 1]]} {
  onnx.graph {
  ^bb0(%c: tensor<i1>, %x: tensor<4x4xf32>, %i: tensor<i64>):
    %0 = "onnx.If"(%c) ({
      %t = "onnx.MatMul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %t : tensor<4x4xf32>
    }, {
      %e = "onnx.Relu"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %e : tensor<4x4xf32>
    }) {onnx.regions = ["then_branch", "else_branch"]} : (tensor<i1>) -> tensor<4x4xf32>
    %1 = onnx.custom "my" "Frob" (%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = onnx.custom "my" "Twice" (%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.SequenceConstruct"(%2) : (tensor<4x4xf32>) -> !onnx.seq<tensor<4x4xf32>>
    %4 = "onnx.SequenceAt"(%3, %i) : (!onnx.seq<tensor<4x4xf32>>, tensor<i64>) -> tensor<4x4xf32>
    onnx.yield %4 : tensor<4x4xf32>
  }
  onnx.function "my" "Twice" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%a: !onnx.unknown):
    %0 = "onnx.MatMul"(%a, %a) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}

// -----

// A value that a training algorithm takes by its name stays; an output of the
// graph keeps its name for an fp32 value anyway.
// CHECK-LABEL: @training_names
// CHECK: mp.class = #mp.class<deny, reason = "named by a training algorithm"{{.*}}>, onnx.results = ["h"]
// CHECK: mp.class = #mp.class<allow, reason = "built-in list"{{.*}}>, onnx.results = ["y"]
module @training_names attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) {onnx.results = ["h"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%0, %x) {onnx.results = ["y"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1 : tensor<4x4xf32>
  }
  onnx.training initialization {} algorithm {
    %h = onnx.outer "h" : tensor<4x4xf32>
    %y = onnx.outer "y" : tensor<4x4xf32>
  }
}
