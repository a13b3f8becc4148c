// RUN: mp-opt %s --split-input-file --onnx-stack-sequences | FileCheck %s

// A list to which each iteration appends is an output of the iterations; its
// length inside of the loop is a number, and an output keeps its name.
// CHECK-LABEL: module @appended
// CHECK: %{{.*}}, %[[ALL:.*]] = "onnx.Loop"(%n, %{{.*}}, %x) ({
// CHECK: ^bb0(%i: tensor<i64>, %c: tensor<i1>, %s: tensor<2xf32>):
// CHECK-NOT: Sequence
// CHECK: onnx.yield %{{.*}}, %[[NEXT:.*]], %{{.*}} : tensor<i1>, tensor<2xf32>, tensor<2xf32>
// CHECK: (tensor<i64>, none, tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>)
// CHECK: %[[Y:.*]] = "onnx.Transpose"(%[[ALL]]) {{.*}}perm = array<i64: 1, 0>
// CHECK: %[[OUT:.*]] = "onnx.Identity"(%[[Y]]) {{.*}}onnx.results = ["y"]
// CHECK: "onnx.Gather"(%[[ALL]], %last)
// CHECK: onnx.yield %[[OUT]]
module @appended attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>, %n: tensor<i64>):
    %absent = onnx.absent
    %last = onnx.initializer "last" dense<-1> : tensor<i64> : tensor<i64>
    %none = "onnx.SequenceEmpty"() {onnx.results = ["none"]} : () -> !onnx.seq<tensor<2xf32>>
    %0:2 = "onnx.Loop"(%n, %absent, %x, %none) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %s: tensor<2xf32>, %list: !onnx.seq<tensor<2xf32>>):
      %t = "onnx.Tanh"(%s) {onnx.results = ["t"]} : (tensor<2xf32>) -> tensor<2xf32>
      %more = "onnx.SequenceInsert"(%list, %t) {onnx.results = ["more"]} : (!onnx.seq<tensor<2xf32>>, tensor<2xf32>) -> !onnx.seq<tensor<2xf32>>
      %length = "onnx.SequenceLength"(%more) {onnx.results = ["length"]} : (!onnx.seq<tensor<2xf32>>) -> tensor<i64>
      %goes = "onnx.Less"(%length, %n) {onnx.results = ["goes"]} : (tensor<i64>, tensor<i64>) -> tensor<i1>
      onnx.yield %goes, %t, %more : tensor<i1>, tensor<2xf32>, !onnx.seq<tensor<2xf32>> {onnx.inputs = [{name = "i"}, {name = "c"}, {name = "s"}, {name = "list"}], onnx.outputs = [{name = "goes"}, {name = "t"}, {name = "more"}]}
    }) {onnx.name = "loop", onnx.regions = ["body"], onnx.results = ["final", "all"]} : (tensor<i64>, none, tensor<2xf32>, !onnx.seq<tensor<2xf32>>) -> (tensor<2xf32>, !onnx.seq<tensor<2xf32>>)
    %y = "onnx.ConcatFromSequence"(%0#1) {axis = -1 : i64, new_axis = 1 : i64, onnx.results = ["y"]} : (!onnx.seq<tensor<2xf32>>) -> tensor<2x?xf32>
    %z = "onnx.SequenceAt"(%0#1, %last) {onnx.results = ["z"]} : (!onnx.seq<tensor<2xf32>>, tensor<i64>) -> tensor<2xf32>
    %w = "onnx.Neg"(%z) {onnx.results = ["w"]} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %y, %w : tensor<2x?xf32>, tensor<2xf32> {onnx.inputs = [{name = "x"}, {name = "n"}], onnx.outputs = [{name = "y"}, {name = "w"}]}
  }
}

// -----

// Elements from before the loop are in front, two of an iteration follow each
// other, and branches that append yield what they append.
// CHECK-LABEL: module @joined
// CHECK: "onnx.Loop"(%n, %{{[^,]*}}) ({
// CHECK: %[[E:.*]] = "onnx.If"
// CHECK: -> tensor<2xf32>
// CHECK: }) {{.*}} : (tensor<i64>, none) -> (tensor<?x2xf32>, tensor<?x2xf32>)
// CHECK: %[[BOTH:.*]] = "onnx.Concat"(%{{.*}}, %{{.*}}) {axis = 1
// CHECK: %[[FIRST:.*]] = "onnx.Unsqueeze"(%x
// CHECK: %[[REST:.*]] = "onnx.Reshape"(%[[BOTH]]
// CHECK: %[[ALL:.*]] = "onnx.Concat"(%[[FIRST]], %[[REST]]) {axis = 0
// CHECK: "onnx.Reshape"(%[[ALL]]
module @joined attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>, %n: tensor<i64>, %b: tensor<i1>):
    %absent = onnx.absent
    %one = "onnx.SequenceConstruct"(%x) {onnx.results = ["one"]} : (tensor<2xf32>) -> !onnx.seq<tensor<2xf32>>
    %all = "onnx.Loop"(%n, %absent, %one) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %list: !onnx.seq<tensor<2xf32>>):
      %chosen = "onnx.If"(%b) ({
        %p = "onnx.SequenceInsert"(%list, %x) {onnx.results = ["p"]} : (!onnx.seq<tensor<2xf32>>, tensor<2xf32>) -> !onnx.seq<tensor<2xf32>>
        onnx.yield %p : !onnx.seq<tensor<2xf32>> {onnx.inputs = [], onnx.outputs = [{name = "p"}]}
      }, {
        %t = "onnx.Tanh"(%x) {onnx.results = ["t"]} : (tensor<2xf32>) -> tensor<2xf32>
        %q = "onnx.SequenceInsert"(%list, %t) {onnx.results = ["q"]} : (!onnx.seq<tensor<2xf32>>, tensor<2xf32>) -> !onnx.seq<tensor<2xf32>>
        onnx.yield %q : !onnx.seq<tensor<2xf32>> {onnx.inputs = [], onnx.outputs = [{name = "q"}]}
      }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["chosen"]} : (tensor<i1>) -> !onnx.seq<tensor<2xf32>>
      %more = "onnx.SequenceInsert"(%chosen, %x) {onnx.results = ["more"]} : (!onnx.seq<tensor<2xf32>>, tensor<2xf32>) -> !onnx.seq<tensor<2xf32>>
      onnx.yield %c, %more : tensor<i1>, !onnx.seq<tensor<2xf32>> {onnx.inputs = [{name = "i"}, {name = "c"}, {name = "list"}], onnx.outputs = [{name = "c"}, {name = "more"}]}
    }) {onnx.name = "loop", onnx.regions = ["body"], onnx.results = ["all"]} : (tensor<i64>, none, !onnx.seq<tensor<2xf32>>) -> !onnx.seq<tensor<2xf32>>
    %y = "onnx.ConcatFromSequence"(%all) {axis = 0 : i64, onnx.results = ["y"]} : (!onnx.seq<tensor<2xf32>>) -> tensor<?xf32>
    onnx.yield %y : tensor<?xf32> {onnx.inputs = [{name = "x"}, {name = "n"}, {name = "b"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A list that an iteration reads stays, and so do a Loop of a constant number
// and elements that may differ where they are joined.
// CHECK-LABEL: module @kept
// CHECK-COUNT-3: SequenceInsert
module @kept attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<?xf32>, %n: tensor<i64>):
    %absent = onnx.absent
    %zero = onnx.initializer "zero" dense<0> : tensor<i64> : tensor<i64>
    %three = onnx.initializer "three" dense<3> : tensor<i64> : tensor<i64>
    %sizes = "onnx.Shape"(%x) {onnx.results = ["sizes"]} : (tensor<?xf32>) -> tensor<1xi64>
    %size = "onnx.Gather"(%sizes, %zero) {onnx.results = ["size"]} : (tensor<1xi64>, tensor<i64>) -> tensor<i64>
    %one = "onnx.SequenceConstruct"(%x) {onnx.results = ["one"]} : (tensor<?xf32>) -> !onnx.seq<tensor<?xf32>>
    %0 = "onnx.Loop"(%n, %absent, %one) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %list: !onnx.seq<tensor<?xf32>>):
      %e = "onnx.SequenceAt"(%list, %i) {onnx.results = ["e"]} : (!onnx.seq<tensor<?xf32>>, tensor<i64>) -> tensor<?xf32>
      %more = "onnx.SequenceInsert"(%list, %e) {onnx.results = ["more"]} : (!onnx.seq<tensor<?xf32>>, tensor<?xf32>) -> !onnx.seq<tensor<?xf32>>
      onnx.yield %c, %more : tensor<i1>, !onnx.seq<tensor<?xf32>> {onnx.inputs = [{name = "i"}, {name = "c"}, {name = "list"}], onnx.outputs = [{name = "c"}, {name = "more"}]}
    }) {onnx.regions = ["body"], onnx.results = ["read"]} : (tensor<i64>, none, !onnx.seq<tensor<?xf32>>) -> !onnx.seq<tensor<?xf32>>
    %1 = "onnx.Loop"(%three, %absent, %one) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %list: !onnx.seq<tensor<?xf32>>):
      %more = "onnx.SequenceInsert"(%list, %x) {onnx.results = ["more_1"]} : (!onnx.seq<tensor<?xf32>>, tensor<?xf32>) -> !onnx.seq<tensor<?xf32>>
      onnx.yield %c, %more : tensor<i1>, !onnx.seq<tensor<?xf32>> {onnx.inputs = [{name = "i"}, {name = "c"}, {name = "list"}], onnx.outputs = [{name = "c"}, {name = "more_1"}]}
    }) {onnx.regions = ["body"], onnx.results = ["constant"]} : (tensor<i64>, none, !onnx.seq<tensor<?xf32>>) -> !onnx.seq<tensor<?xf32>>
    %2 = "onnx.Loop"(%size, %absent, %one) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %list: !onnx.seq<tensor<?xf32>>):
      %more = "onnx.SequenceInsert"(%list, %x) {onnx.results = ["more_2"]} : (!onnx.seq<tensor<?xf32>>, tensor<?xf32>) -> !onnx.seq<tensor<?xf32>>
      onnx.yield %c, %more : tensor<i1>, !onnx.seq<tensor<?xf32>> {onnx.inputs = [{name = "i"}, {name = "c"}, {name = "list"}], onnx.outputs = [{name = "c"}, {name = "more_2"}]}
    }) {onnx.regions = ["body"], onnx.results = ["differ"]} : (tensor<i64>, none, !onnx.seq<tensor<?xf32>>) -> !onnx.seq<tensor<?xf32>>
    %a = "onnx.ConcatFromSequence"(%0) {axis = 0 : i64, onnx.results = ["a"]} : (!onnx.seq<tensor<?xf32>>) -> tensor<?xf32>
    %b = "onnx.ConcatFromSequence"(%1) {axis = 0 : i64, onnx.results = ["b"]} : (!onnx.seq<tensor<?xf32>>) -> tensor<?xf32>
    %c = "onnx.ConcatFromSequence"(%2) {axis = 0 : i64, onnx.results = ["c3"]} : (!onnx.seq<tensor<?xf32>>) -> tensor<?xf32>
    onnx.yield %a, %b, %c : tensor<?xf32>, tensor<?xf32>, tensor<?xf32> {onnx.inputs = [{name = "x"}, {name = "n"}], onnx.outputs = [{name = "a"}, {name = "b"}, {name = "c3"}]}
  }
}
