// RUN: mp-opt %s --split-input-file --onnx-fold-constants | FileCheck %s

// The size of a known axis decides; the branch keeps its names, the result too.
// What computed the condition is gone, float weights are where they were.
// CHECK-LABEL: module @squeeze
// CHECK: %[[W:.*]] = onnx.initializer "w"
// CHECK-NOT: "onnx.Shape"
// CHECK: %[[Y:.*]] = "onnx.Mul"(%{{.*}}, %[[W]]) {onnx.name = "product", onnx.results = ["y"]}
// CHECK-NOT: onnx.If
// CHECK: onnx.yield %[[Y]]
module @squeeze attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x1x3xf32>):
    %i = "onnx.Constant"() {value_int = 1 : i64, onnx.results = ["i"]} : () -> tensor<i64>
    %s = "onnx.Shape"(%x) {onnx.results = ["s"]} : (tensor<?x1x3xf32>) -> tensor<3xi64>
    %d = "onnx.Gather"(%s, %i) {axis = 0 : i64, onnx.results = ["d"]} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
    %e = "onnx.Equal"(%d, %i) {onnx.results = ["e"]} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %y = "onnx.If"(%e) ({
      %w = onnx.initializer "w" dense<[1.0, 2.0, 3.0]> : tensor<3xf32> : tensor<3xf32>
      %p = "onnx.Mul"(%x, %w) {onnx.name = "product", onnx.results = ["p"]} : (tensor<?x1x3xf32>, tensor<3xf32>) -> tensor<?x1x3xf32>
      onnx.yield %p : tensor<?x1x3xf32>
    }, {
      %n = "onnx.Neg"(%x) {onnx.results = ["n"]} : (tensor<?x1x3xf32>) -> tensor<?x1x3xf32>
      onnx.yield %n : tensor<?x1x3xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["y"]} : (tensor<i1>) -> tensor<?x1x3xf32>
    onnx.yield %y : tensor<?x1x3xf32>
  }
}

// -----

// An unknown size decides nothing, and arithmetic on sizes stays.
// CHECK-LABEL: module @unknown
// CHECK: "onnx.Shape"
// CHECK: "onnx.Gather"
// CHECK: "onnx.If"
module @unknown attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x1x3xf32>):
    %i = "onnx.Constant"() {value_int = 0 : i64, onnx.results = ["i"]} : () -> tensor<i64>
    %s = "onnx.Shape"(%x) {onnx.results = ["s"]} : (tensor<?x1x3xf32>) -> tensor<3xi64>
    %d = "onnx.Gather"(%s, %i) {axis = 0 : i64, onnx.results = ["d"]} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
    %e = "onnx.Equal"(%d, %i) {onnx.results = ["e"]} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %y = "onnx.If"(%e) ({
      %p = "onnx.Exp"(%x) {onnx.results = ["p"]} : (tensor<?x1x3xf32>) -> tensor<?x1x3xf32>
      onnx.yield %p : tensor<?x1x3xf32>
    }, {
      %n = "onnx.Neg"(%x) {onnx.results = ["n"]} : (tensor<?x1x3xf32>) -> tensor<?x1x3xf32>
      onnx.yield %n : tensor<?x1x3xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["y"]} : (tensor<i1>) -> tensor<?x1x3xf32>
    onnx.yield %y : tensor<?x1x3xf32>
  }
}

// -----

// A default is no constant: callers may give another.
// CHECK-LABEL: module @default
// CHECK: "onnx.If"
module @default attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>, %c: tensor<i1>):
    %0 = onnx.initializer "c" dense<true> : tensor<i1> overridable : tensor<i1>
    %y = "onnx.If"(%c) ({
      %p = "onnx.Exp"(%x) {onnx.results = ["p"]} : (tensor<2xf32>) -> tensor<2xf32>
      onnx.yield %p : tensor<2xf32>
    }, {
      %n = "onnx.Neg"(%x) {onnx.results = ["n"]} : (tensor<2xf32>) -> tensor<2xf32>
      onnx.yield %n : tensor<2xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["y"]} : (tensor<i1>) -> tensor<2xf32>
    onnx.yield %y : tensor<2xf32> {onnx.inputs = [{name = "x"}, {name = "c"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Two branches with equal names: one of them gets others. A branch that yields
// what is outside of it is the value itself, or a name for an output.
// CHECK-LABEL: module @names
// CHECK: "onnx.Exp"(%{{.*}}) {onnx.name = "n_1", onnx.results = ["t_1"]}
// CHECK: "onnx.Neg"(%{{.*}}) {onnx.name = "n", onnx.results = ["t"]}
// CHECK: "onnx.Identity"(%{{.*}}) {{.*}}onnx.results = ["z"]
module @names attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %true = "onnx.Constant"() {value = dense<true> : tensor<i1>, onnx.results = ["c"]} : () -> tensor<i1>
    %y = "onnx.If"(%true) ({
      %p = "onnx.Exp"(%x) {onnx.name = "n", onnx.results = ["t"]} : (tensor<2xf32>) -> tensor<2xf32>
      %q = "onnx.Neg"(%p) {onnx.results = ["u"]} : (tensor<2xf32>) -> tensor<2xf32>
      onnx.yield %q : tensor<2xf32>
    }, {
      %p = "onnx.Sin"(%x) {onnx.name = "n", onnx.results = ["t"]} : (tensor<2xf32>) -> tensor<2xf32>
      onnx.yield %p : tensor<2xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["y"]} : (tensor<i1>) -> tensor<2xf32>
    %k = "onnx.If"(%true) ({
      %p = "onnx.Neg"(%y) {onnx.name = "n", onnx.results = ["t"]} : (tensor<2xf32>) -> tensor<2xf32>
      %q = "onnx.Neg"(%p) {onnx.results = ["u"]} : (tensor<2xf32>) -> tensor<2xf32>
      onnx.yield %q : tensor<2xf32>
    }, {
      onnx.yield %x : tensor<2xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["k"]} : (tensor<i1>) -> tensor<2xf32>
    %z = "onnx.If"(%true) ({
      onnx.yield %x : tensor<2xf32>
    }, {
      onnx.yield %k : tensor<2xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["z"]} : (tensor<i1>) -> tensor<2xf32>
    onnx.yield %k, %z : tensor<2xf32>, tensor<2xf32>
  }
}

// -----

// A Loop that counts to two: the condition is computed. Its weight is one.
// CHECK-LABEL: module @count
// CHECK: %[[W:.*]] = onnx.initializer "w"
// CHECK-NOT: "onnx.LessOrEqual"
// CHECK: %[[A:.*]] = "onnx.Mul"(%{{.*}}, %[[W]]) {onnx.name = "loop/0/Mul"
// CHECK: %[[B:.*]] = "onnx.Mul"(%[[A]], %[[W]]) {{.*}}onnx.results = ["y"]
// CHECK-NOT: onnx.Loop
// CHECK: %[[S:.*]] = "onnx.Concat"{{.*}}onnx.results = ["s"]
// CHECK: onnx.yield %[[B]], %[[S]]
module @count attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %none = onnx.absent
    %true = "onnx.Constant"() {value = dense<true> : tensor<i1>, onnx.results = ["c"]} : () -> tensor<i1>
    %zero = "onnx.Constant"() {value_int = 0 : i64, onnx.results = ["zero"]} : () -> tensor<i64>
    %0:3 = "onnx.Loop"(%none, %true, %zero, %x) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %n: tensor<i64>, %v: tensor<2xf32>):
      %w = onnx.initializer "w" dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
      %one = "onnx.Constant"() {value_int = 1 : i64, onnx.results = ["one"]} : () -> tensor<i64>
      %m = "onnx.Add"(%n, %one) {onnx.results = ["m"]} : (tensor<i64>, tensor<i64>) -> tensor<i64>
      %d = "onnx.LessOrEqual"(%m, %one) {onnx.results = ["d"]} : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %p = "onnx.Mul"(%v, %w) {onnx.results = ["p"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %q = "onnx.Neg"(%p) {onnx.results = ["q"]} : (tensor<2xf32>) -> tensor<2xf32>
      onnx.yield %d, %m, %p, %q : tensor<i1>, tensor<i64>, tensor<2xf32>, tensor<2xf32>
    }) {onnx.name = "loop", onnx.regions = ["body"], onnx.results = ["", "y", "s"]} : (none, tensor<i1>, tensor<i64>, tensor<2xf32>) -> (tensor<i64>, tensor<2xf32>, tensor<?x2xf32>)
    onnx.yield %0#1, %0#2 : tensor<2xf32>, tensor<?x2xf32>
  }
}

// -----

// Many iterations, one with random numbers in each, and one of which nobody
// knows the end, stay.
// CHECK-LABEL: module @loops
// CHECK-COUNT-3: "onnx.Loop"
module @loops attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>, %k: tensor<i64>):
    %none = onnx.absent
    %many = "onnx.Constant"() {value_int = 65 : i64, onnx.results = ["many"]} : () -> tensor<i64>
    %two = "onnx.Constant"() {value_int = 2 : i64, onnx.results = ["two"]} : () -> tensor<i64>
    %a = "onnx.Loop"(%many, %none, %x) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<2xf32>):
      %d = "onnx.Identity"(%c) {onnx.results = ["d"]} : (tensor<i1>) -> tensor<i1>
      %p = "onnx.Sin"(%v) {onnx.results = ["p"]} : (tensor<2xf32>) -> tensor<2xf32>
      onnx.yield %d, %p : tensor<i1>, tensor<2xf32>
    }) {onnx.regions = ["body"], onnx.results = ["a"]} : (tensor<i64>, none, tensor<2xf32>) -> tensor<2xf32>
    %b = "onnx.Loop"(%two, %none, %a) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<2xf32>):
      %d = "onnx.Identity"(%c) {onnx.results = ["d"]} : (tensor<i1>) -> tensor<i1>
      %p = "onnx.RandomNormalLike"(%v) {onnx.results = ["p"]} : (tensor<2xf32>) -> tensor<2xf32>
      onnx.yield %d, %p : tensor<i1>, tensor<2xf32>
    }) {onnx.regions = ["body"], onnx.results = ["b"]} : (tensor<i64>, none, tensor<2xf32>) -> tensor<2xf32>
    %y = "onnx.Loop"(%k, %none, %b) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<2xf32>):
      %d = "onnx.Identity"(%c) {onnx.results = ["d"]} : (tensor<i1>) -> tensor<i1>
      %p = "onnx.Sin"(%v) {onnx.results = ["p"]} : (tensor<2xf32>) -> tensor<2xf32>
      onnx.yield %d, %p : tensor<i1>, tensor<2xf32>
    }) {onnx.regions = ["body"], onnx.results = ["y"]} : (tensor<i64>, none, tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %y : tensor<2xf32>
  }
}

// -----

// Ranks that shapes tell: of a shape that is known in part, and wholly.
// CHECK-LABEL: module @ranks
// CHECK: "onnx.Reshape"(%{{.*}}) {{.*}} -> tensor<?x3x2xf32>
// CHECK: "onnx.Relu"{{.*}} -> tensor<?x3x2xf32>
// CHECK: "onnx.ConstantOfShape"(%{{.*}}) {{.*}} -> tensor<3x2xf32>
module @ranks attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x6xf32>):
    %0 = "onnx.Shape"(%x) {end = 1 : i64, onnx.results = ["s"]} : (tensor<?x6xf32>) -> tensor<1xi64>
    %1 = "onnx.Constant"() {value_ints = array<i64: 3, 2>, onnx.results = ["c"]} : () -> tensor<2xi64>
    %2 = "onnx.Concat"(%0, %1) {axis = 0 : i64, onnx.results = ["t"]} : (tensor<1xi64>, tensor<2xi64>) -> tensor<3xi64>
    %3 = "onnx.Reshape"(%x, %2) {onnx.results = ["r"]} : (tensor<?x6xf32>, tensor<3xi64>) -> tensor<*xf32>
    %4 = "onnx.Relu"(%3) {onnx.results = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    %5 = "onnx.Mul"(%1, %1) {onnx.results = ["u"]} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    %6 = "onnx.Div"(%5, %1) {onnx.results = ["v"]} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    %7 = "onnx.ConstantOfShape"(%6) {onnx.results = ["z"]} : (tensor<2xi64>) -> tensor<*xf32>
    onnx.yield %4, %7 : tensor<*xf32>, tensor<*xf32>
  }
}

// -----

// The one size that a Reshape leaves open follows from the others.
// CHECK-LABEL: module @open
// CHECK: "onnx.Reshape"{{.*}} -> tensor<4x6xf32>
module @open attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3x4xf32>):
    %0 = "onnx.Constant"() {value_ints = array<i64: -1, 6>, onnx.results = ["c"]} : () -> tensor<2xi64>
    %1 = "onnx.Reshape"(%x, %0) {onnx.results = ["y"]} : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<?x6xf32>
    onnx.yield %1 : tensor<?x6xf32>
  }
}

// -----

// A bag of embeddings for each count: 30 copies of one node that is left of
// five. Branches that are not taken do not count, and need not be known to do
// the same in each copy. What each copy computes anew is a constant.
// CHECK-LABEL: module @collect
// CHECK-NOT: onnx.Loop
// CHECK-NOT: onnx.If
// CHECK-COUNT-30: "onnx.Neg"(
// CHECK-NOT: "onnx.Add"
module @collect attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %none = onnx.absent
    %count = "onnx.Constant"() {value_int = 30 : i64, onnx.results = ["count"]} : () -> tensor<i64>
    %zero = "onnx.Constant"() {value_int = 0 : i64, onnx.results = ["zero"]} : () -> tensor<i64>
    %true = "onnx.Constant"() {value = dense<true> : tensor<i1>, onnx.results = ["c"]} : () -> tensor<i1>
    %e = "onnx.SequenceEmpty"() {onnx.results = ["e"]} : () -> !onnx.seq<tensor<2xf32>>
    %0:2 = "onnx.Loop"(%none, %true, %e, %zero) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %s: !onnx.seq<tensor<2xf32>>, %n: tensor<i64>):
      %one = "onnx.Constant"() {value_int = 1 : i64, onnx.results = ["one"]} : () -> tensor<i64>
      %k = "onnx.CastLike"(%one, %n) {onnx.results = ["k"]} : (tensor<i64>, tensor<i64>) -> tensor<i64>
      %m = "onnx.Add"(%n, %k) {onnx.results = ["m"]} : (tensor<i64>, tensor<i64>) -> tensor<i64>
      %d = "onnx.Less"(%m, %count) {onnx.results = ["d"]} : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %q = "onnx.Equal"(%n, %count) {onnx.results = ["q"]} : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %r = "onnx.If"(%q) ({
        %a = "onnx.Sin"(%x) {onnx.results = ["a"]} : (tensor<2xf32>) -> tensor<2xf32>
        onnx.yield %a : tensor<2xf32>
      }, {
        %b = "onnx.Neg"(%x) {onnx.results = ["b"]} : (tensor<2xf32>) -> tensor<2xf32>
        onnx.yield %b : tensor<2xf32>
      }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["r"]} : (tensor<i1>) -> tensor<2xf32>
      %t = "onnx.SequenceInsert"(%s, %r) {onnx.results = ["t"]} : (!onnx.seq<tensor<2xf32>>, tensor<2xf32>) -> !onnx.seq<tensor<2xf32>>
      onnx.yield %d, %t, %m : tensor<i1>, !onnx.seq<tensor<2xf32>>, tensor<i64>
    }) {onnx.name = "loop", onnx.regions = ["body"], onnx.results = ["y", ""]} : (none, tensor<i1>, !onnx.seq<tensor<2xf32>>, tensor<i64>) -> (!onnx.seq<tensor<2xf32>>, tensor<i64>)
    onnx.yield %0#0 : !onnx.seq<tensor<2xf32>>
  }
}
