// RUN: mp-opt %s --split-input-file --onnx-specialize-functions | FileCheck %s
//
// Together with the pass that takes clones back, it changes nothing.
// RUN: mp-opt %s --split-input-file > %t.before
// RUN: mp-opt %s --split-input-file --onnx-specialize-functions \
// RUN:   --onnx-merge-functions | diff %t.before -

// Each call has its own clone, with the types of the call, behind the
// original; types go on from what it yields.
// CHECK-LABEL: module @two_calls
// CHECK: %[[A:.*]] = onnx.custom "loc" "F"(%{{.*}}) {{.*}}mp.callee = "F_1"{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[B:.*]] = onnx.custom "loc" "F"(%{{.*}}) {{.*}}mp.callee = "F_2"{{.*}} : (tensor<2xf16>) -> tensor<2xf16>
// CHECK: "onnx.Relu"(%[[A]]){{.*}} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: onnx.function "loc" "F" attributes {onnx.opset_import
// CHECK-NEXT: ^bb0(%{{.*}}: !onnx.unknown):
// CHECK: onnx.function "loc" "F_1" attributes {mp.specialized = "F"
// CHECK-NEXT: ^bb0(%[[P:.*]]: tensor<4xf32>):
// CHECK-NEXT: {{.*}}"onnx.Exp"(%[[P]]) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: onnx.function "loc" "F_2" attributes {mp.specialized = "F"
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<2xf16>):
// CHECK: onnx.function "loc" "G"
// CHECK-NOT: onnx.function
module @two_calls attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>, %h: tensor<2xf16>):
    %0 = onnx.custom "loc" "F"(%x) : (tensor<4xf32>) -> !onnx.unknown
    %1 = onnx.custom "loc" "F"(%h) : (tensor<2xf16>) -> !onnx.unknown
    %2 = "onnx.Relu"(%0) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %2, %1 : !onnx.unknown, !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Exp"(%p) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "G" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    onnx.yield %p : !onnx.unknown
  }
}

// -----

// Three deep, a call inside a subgraph; a name that is taken is passed over.
// CHECK-LABEL: module @nested
// CHECK: mp.callee = "A_2"
// CHECK: onnx.function "loc" "A_1" attributes {onnx.opset
// CHECK: onnx.function "loc" "A" attributes {onnx.opset
// CHECK: onnx.function "loc" "A_2" attributes {mp.specialized = "A"
// CHECK: onnx.custom "loc" "B"(%{{.*}}) {{.*}}mp.callee = "B_1"{{.*}} -> tensor<2x3xf32>
// CHECK: "onnx.Sin"(%{{.*}}) : (tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK: }) {{.*}} : (tensor<i1>) -> tensor<*xf32>
// CHECK: onnx.function "loc" "B_1"
// CHECK: onnx.custom "loc" "C"(%{{.*}}) {{.*}}mp.callee = "C_1"
// CHECK: onnx.function "loc" "C_1"
// CHECK: "onnx.Transpose"(%{{.*}}) : (tensor<3x2xf32>) -> tensor<2x3xf32>
module @nested attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<3x2xf32>, %c: tensor<i1>):
    %0 = onnx.custom "loc" "A"(%x, %c) : (tensor<3x2xf32>, tensor<i1>) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "A_1" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    onnx.yield %p : !onnx.unknown
  }
  onnx.function "loc" "A" attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  ^bb0(%p: !onnx.unknown, %c: !onnx.unknown):
    %0 = "onnx.If"(%c) ({
      %1 = onnx.custom "loc" "B"(%p) : (!onnx.unknown) -> !onnx.unknown
      onnx.yield %1 : !onnx.unknown
    }, {
      %1 = "onnx.Sin"(%p) : (!onnx.unknown) -> !onnx.unknown
      onnx.yield %1 : !onnx.unknown
    }) {onnx.regions = ["then_branch", "else_branch"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "B" attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "C"(%p) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "C" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Transpose"(%p) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}

// -----

// References to attributes stay, but are typed by the call's values, through
// two calls; what a call leaves out has the function's default.
// CHECK-LABEL: module @attributes
// CHECK: "loc" "Outer"(%{{.*}}) {{.*}}kind = 11 : i64{{.*}} -> tensor<2xf64>
// CHECK: "loc" "Outer"(%{{.*}}) {{.*}}mp.callee{{.*}} -> tensor<2xi64>
// CHECK: onnx.function "loc" "Inner_1"
// CHECK: "onnx.Cast"(%{{.*}}) {{.*}}to = #onnx.proto<{ref_attr_name = "to", type = 2 : i64}>{{.*}} -> tensor<2xf64>
// CHECK: onnx.function "loc" "Inner_2"
// CHECK: "onnx.Cast"(%{{.*}}) {{.*}}to = #onnx.proto<{ref_attr_name = "to", type = 2 : i64}>{{.*}} -> tensor<2xi64>
module @attributes attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %0 = onnx.custom "loc" "Outer"(%x) attributes {kind = 11 : i64} : (tensor<2xf32>) -> !onnx.unknown
    %1 = onnx.custom "loc" "Outer"(%x) : (tensor<2xf32>) -> !onnx.unknown
    onnx.yield %0, %1 : !onnx.unknown, !onnx.unknown
  }
  onnx.function "loc" "Outer" attributes {onnx.extra = {attribute_proto = [{i = 7 : i64, name = "kind", type = 2 : i64}]}, onnx.opset_import = [["", 17], ["loc", 1]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "Inner"(%p) attributes {to = #onnx.proto<{ref_attr_name = "kind", type = 2 : i64}>} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "Inner" attributes {onnx.extra = {attribute = ["to"]}, onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Cast"(%p) {to = #onnx.proto<{ref_attr_name = "to", type = 2 : i64}>} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}

// -----

// Inputs that are not given are absent inside; the node reads so.
// CHECK-LABEL: module @absent_input
// CHECK: onnx.function "loc" "Clip01_1"
// CHECK-NEXT: ^bb0(%[[P:.*]]: tensor<4xf32>, %[[LOW:.*]]: none, %[[HIGH:.*]]: none):
// CHECK-NEXT: {{.*}}"onnx.Clip"(%[[P]], %[[LOW]], %[[HIGH]]) : (tensor<4xf32>, none, none) -> tensor<4xf32>
module @absent_input attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %absent = onnx.absent
    %0 = onnx.custom "loc" "Clip01"(%x, %absent) : (tensor<4xf32>, none) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "Clip01" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown, %low: !onnx.unknown, %high: !onnx.unknown):
    %0 = "onnx.Clip"(%p, %low, %high) : (!onnx.unknown, !onnx.unknown, !onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}

// -----

// The overload tells functions of one name apart.
// CHECK-LABEL: module @overloads
// CHECK: "loc" "F"(%{{.*}}) {{.*}}mp.callee = "F_1"{{.*}} -> tensor<2xf32>
// CHECK: "loc" "F"(%{{.*}}) {{.*}}mp.callee = "F_1"{{.*}} -> tensor<2xi64>
// CHECK: onnx.function "loc" "F_1" {{.*}}overload = "a"
// CHECK: onnx.function "loc" "F_1" {{.*}}overload = "b"
module @overloads attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %0 = onnx.custom "loc" "F"(%x) attributes {onnx.extra = {overload = "a"}} : (tensor<2xf32>) -> !onnx.unknown
    %1 = onnx.custom "loc" "F"(%x) attributes {onnx.extra = {overload = "b"}} : (tensor<2xf32>) -> !onnx.unknown
    onnx.yield %0, %1 : !onnx.unknown, !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.extra = {overload = "a"}, onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Exp"(%p) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.extra = {overload = "b"}, onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Cast"(%p) {to = 7 : i64} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}

// -----

// Without floats there is nothing to decide; the types go on all the same.
// CHECK-LABEL: module @no_floats
// CHECK: "loc" "Next"(%{{.*}}) attributes {mp.untyped = [!onnx.unknown]} : (tensor<2xi64>) -> tensor<2xi64>
// CHECK-COUNT-1: onnx.function
// CHECK-NOT: onnx.function
module @no_floats attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%n: tensor<2xi64>):
    %0 = onnx.custom "loc" "Next"(%n) : (tensor<2xi64>) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "Next" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Add"(%p, %p) : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}

// -----

// In a loop of the main graph, with state that nothing gives a type to.
// CHECK-LABEL: module @loop
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<i1>, %[[S:.*]]: tensor<*xf32>):
// CHECK: "loc" "F"(%[[S]]) {{.*}}mp.callee = "F_2"{{.*}} -> tensor<*xf32>
// CHECK: mp.untyped = [!onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown]
// CHECK-SAME: -> tensor<*xf32>
module @loop attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>, %n: tensor<i64>, %c: tensor<i1>):
    %0 = onnx.custom "loc" "F"(%x) : (tensor<2xf32>) -> !onnx.unknown
    %1 = "onnx.Loop"(%n, %c, %0) ({
    ^bb0(%i: !onnx.unknown, %go: !onnx.unknown, %s: !onnx.unknown):
      %2 = onnx.custom "loc" "F"(%s) : (!onnx.unknown) -> !onnx.unknown
      onnx.yield %go, %2 : !onnx.unknown, !onnx.unknown
    }) {onnx.regions = ["body"]} : (tensor<i64>, tensor<i1>, !onnx.unknown) -> !onnx.unknown
    onnx.yield %1 : !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Exp"(%p) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}

// -----

// Shapes that import could not tell follow, too.
// CHECK-LABEL: module @shapes
// CHECK: "onnx.Exp"(%{{.*}}) {mp.untyped = [tensor<*xf32>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK: "onnx.Exp"(%{{.*}}) : (tensor<*xf32>) -> tensor<*xf32>
module @shapes attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>, %y: tensor<*xf32>):
    %0 = onnx.custom "loc" "F"(%x) : (tensor<2x3xf32>) -> tensor<*xf32>
    %1 = "onnx.Exp"(%0) : (tensor<*xf32>) -> tensor<*xf32>
    %2 = "onnx.Exp"(%y) : (tensor<*xf32>) -> tensor<*xf32>
    onnx.yield %1, %2 : tensor<*xf32>, tensor<*xf32>
  }
  onnx.function "loc" "F" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Exp"(%p) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}
