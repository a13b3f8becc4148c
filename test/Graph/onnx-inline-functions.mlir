// RUN: mp-opt %s --split-input-file --onnx-inline-functions | FileCheck %s

// Each call has its own nodes, called after it; types go on from what they
// yield, and the results keep their names.
// CHECK-LABEL: module @two_calls
// CHECK: ^bb0(%[[X:.*]]: tensor<4xf32>, %[[H:.*]]: tensor<2xf16>):
// CHECK-NEXT: %[[E:.*]] = "onnx.Exp"(%[[X]]) {onnx.name = "f/exp", onnx.results = ["f/t"]} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[A:.*]] = "onnx.Sin"(%[[E]]) {onnx.name = "f/Sin", onnx.results = ["a"]} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: "onnx.Exp"(%[[H]]) {onnx.name = "f/exp_1", onnx.results = ["f/t_1"]} : (tensor<2xf16>) -> tensor<2xf16>
// CHECK-NEXT: %[[B:.*]] = "onnx.Sin"(%{{.*}}) {onnx.name = "f/Sin_1", onnx.results = ["b"]} : (tensor<2xf16>) -> tensor<2xf16>
// CHECK-NEXT: %[[R:.*]] = "onnx.Relu"(%[[A]]){{.*}} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: onnx.yield %[[R]], %[[B]]
// CHECK-NOT: "loc" "F"
// CHECK: onnx.function "loc" "Unused"
module @two_calls attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>, %h: tensor<2xf16>):
    %0 = onnx.custom "loc" "F"(%x) attributes {onnx.name = "f", onnx.results = ["a"]} : (tensor<4xf32>) -> !onnx.unknown
    %1 = onnx.custom "loc" "F"(%h) attributes {onnx.name = "f", onnx.results = ["b"]} : (tensor<2xf16>) -> !onnx.unknown
    %2 = "onnx.Relu"(%0) {onnx.results = ["r"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %2, %1 : !onnx.unknown, !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Exp"(%p) {onnx.name = "exp", onnx.results = ["t"]} : (!onnx.unknown) -> !onnx.unknown
    %1 = "onnx.Sin"(%0) {onnx.results = ["y"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %1 : !onnx.unknown
  }
  onnx.function "loc" "Unused" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    onnx.yield %p : !onnx.unknown
  }
}

// -----

// Calls in subgraphs and in functions. Values of subgraphs are renamed with
// what describes them.
// CHECK-LABEL: module @nested
// CHECK: "onnx.If"(%{{.*}}) ({
// CHECK-NEXT: "onnx.Transpose"(%{{.*}}) {onnx.name = "a/b/c/Transpose", onnx.results = ["a/u"]} : (tensor<3x2xf32>) -> tensor<2x3xf32>
// CHECK: "onnx.Loop"(%{{.*}}) ({
// CHECK: onnx.inputs = [{name = "a/i"}, {name = "a/k"}, {name = "a/v"}], onnx.outputs = [{name = "a/k"}, {name = "a/v"}]
// CHECK: onnx.name = "a/if"
// CHECK-NOT: onnx.function
module @nested attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<3x2xf32>, %c: tensor<i1>, %n: tensor<i64>):
    %0 = onnx.custom "loc" "A"(%x, %c, %n) attributes {onnx.name = "a", onnx.results = ["y"]} : (tensor<3x2xf32>, tensor<i1>, tensor<i64>) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "A" attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  ^bb0(%p: !onnx.unknown, %c: !onnx.unknown, %n: !onnx.unknown):
    %0 = "onnx.If"(%c) ({
      %1 = onnx.custom "loc" "B"(%p) attributes {onnx.name = "b", onnx.results = ["u"]} : (!onnx.unknown) -> !onnx.unknown
      onnx.yield %1 : !onnx.unknown {onnx.inputs = [], onnx.outputs = [{name = "u"}]}
    }, {
      %2 = "onnx.Loop"(%n, %c, %p) ({
      ^bb0(%i: !onnx.unknown, %k: !onnx.unknown, %v: !onnx.unknown):
        onnx.yield %k, %v : !onnx.unknown, !onnx.unknown {onnx.inputs = [{name = "i"}, {name = "k"}, {name = "v"}], onnx.outputs = [{name = "k"}, {name = "v"}]}
      }) {onnx.name = "loop", onnx.regions = ["body"], onnx.results = ["l"]} : (!onnx.unknown, !onnx.unknown, !onnx.unknown) -> !onnx.unknown
      onnx.yield %2 : !onnx.unknown {onnx.inputs = [], onnx.outputs = [{name = "l"}]}
    }) {onnx.name = "if", onnx.regions = ["then_branch", "else_branch"], onnx.results = ["z"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "B" attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "C"(%p) attributes {onnx.name = "c", onnx.results = ["v"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "C" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Transpose"(%p) {onnx.results = ["w"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}

// -----

// Attributes: the call's value, the function's default, or none; and through
// two calls.
// CHECK-LABEL: module @attributes
// CHECK: "onnx.Cast"(%{{.*}}) {onnx.name = "o/i/Cast", onnx.results = ["a"], to = 11 : i64} : (tensor<2xf32>) -> tensor<2xf64>
// CHECK: "onnx.Cast"(%{{.*}}) {onnx.name = "b/i/Cast", onnx.results = ["b"], to = 7 : i64} : (tensor<2xf32>) -> tensor<2xi64>
// CHECK: "onnx.ReduceMax"(%{{.*}}) {axes = array<i64: 0>, onnx.name = "c/ReduceMax"
// CHECK: "onnx.ReduceMax"(%{{.*}}) {onnx.name = "d/ReduceMax"
module @attributes attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %0 = onnx.custom "loc" "Outer"(%x) attributes {kind = 11 : i64, onnx.name = "o", onnx.results = ["a"]} : (tensor<2xf32>) -> !onnx.unknown
    %1 = onnx.custom "loc" "Outer"(%x) attributes {onnx.results = ["b"]} : (tensor<2xf32>) -> !onnx.unknown
    %2 = onnx.custom "loc" "Most"(%x) attributes {axes = array<i64: 0>, onnx.results = ["c"]} : (tensor<2xf32>) -> !onnx.unknown
    %3 = onnx.custom "loc" "Most"(%x) attributes {onnx.results = ["d"]} : (tensor<2xf32>) -> !onnx.unknown
    onnx.yield %0, %1, %2, %3 : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
  }
  onnx.function "loc" "Outer" attributes {onnx.extra = {attribute_proto = [{i = 7 : i64, name = "kind", type = 2 : i64}]}, onnx.opset_import = [["", 17], ["loc", 1]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "Inner"(%p) attributes {onnx.name = "i", onnx.results = ["r"], to = #onnx.proto<{ref_attr_name = "kind", type = 2 : i64}>} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "Inner" attributes {onnx.extra = {attribute = ["to"]}, onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Cast"(%p) {onnx.results = ["s"], to = #onnx.proto<{ref_attr_name = "to", type = 2 : i64}>} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "Most" attributes {onnx.extra = {attribute = ["axes"]}, onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.ReduceMax"(%p) {axes = #onnx.proto<{ref_attr_name = "axes", type = 7 : i64}>, onnx.results = ["m"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}

// -----

// Inputs that are left out, outputs that are left out, an input that is an
// output of the graph, metadata, and a function of an older opset.
// CHECK-LABEL: module @operands
// CHECK: %[[NONE:.*]] = onnx.absent
// CHECK: "onnx.Clip"(%{{.*}}, %[[NONE]], %{{.*}}) {onnx.extra = {metadata_props = [{key = "k", value = "call"}]}
// CHECK: "onnx.Neg"(%{{.*}}) {onnx.extra = {metadata_props = [{key = "k", value = "own"}]}
// CHECK: %[[SAME:.*]] = "onnx.Identity"(%{{.*}}) {{.*}}onnx.results = ["s"]
// CHECK: "onnx.Squeeze"(%{{.*}}, %{{.*}}) {{.*}} : (tensor<1x2xf32>, tensor<1xi64>) -> tensor<2xf32>
module @operands attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x2xf32>, %m: tensor<f32>):
    %none = onnx.absent
    %0:3 = onnx.custom "loc" "F"(%x, %none, %m) attributes {onnx.extra = {metadata_props = [{key = "k", value = "call"}]}, onnx.name = "f", onnx.results = ["a", "", "s"]} : (tensor<1x2xf32>, none, tensor<f32>) -> (!onnx.unknown, none, !onnx.unknown)
    %1 = onnx.custom "loc" "Old"(%x) attributes {onnx.name = "g", onnx.results = ["q"]} : (tensor<1x2xf32>) -> !onnx.unknown
    onnx.yield %0#0, %0#2, %1 : !onnx.unknown, !onnx.unknown, !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown, %lo: !onnx.unknown, %hi: !onnx.unknown, %more: !onnx.unknown):
    %0 = "onnx.Clip"(%p, %lo, %hi) {onnx.results = ["c"]} : (!onnx.unknown, !onnx.unknown, !onnx.unknown) -> !onnx.unknown
    %1 = "onnx.Neg"(%p) {onnx.extra = {metadata_props = [{key = "k", value = "own"}]}, onnx.results = ["n"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0, %1, %p : !onnx.unknown, !onnx.unknown, !onnx.unknown
  }
  onnx.function "loc" "Old" attributes {onnx.opset_import = [["", 11]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Squeeze"(%p) {axes = array<i64: 0>, onnx.results = ["r"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}

// -----

// A function that a training graph calls stays.
// CHECK-LABEL: module @training
// CHECK: onnx.function "loc" "F"
module @training attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %0 = onnx.custom "loc" "F"(%x) attributes {onnx.results = ["a"]} : (tensor<2xf32>) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.training initialization {
  } algorithm {
    %0 = onnx.outer "x" : !onnx.unknown
    %1 = onnx.custom "loc" "F"(%0) attributes {onnx.results = ["t"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %1 : !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Exp"(%p) {onnx.results = ["e"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}
