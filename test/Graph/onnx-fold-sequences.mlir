// RUN: mp-opt %s --split-input-file --onnx-fold-sequences | FileCheck %s

// As torch's newer exporter writes a split: parts of one size, and the last.
// CHECK-LABEL: module @parts
// CHECK: %{{.*}}, %[[A:.*]], %[[B:.*]] = "onnx.Split"(%x, %{{.*}}) {axis = 1 : i64
// CHECK-NOT: SplitToSequence
// CHECK: "onnx.Neg"(%[[A]]) {{.*}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK: "onnx.Neg"(%[[B]]) {{.*}} : (tensor<?x2xf32>) -> tensor<?x2xf32>
module @parts attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x10xf32>):
    %size = onnx.initializer "size" dense<4> : tensor<i64> : tensor<i64>
    %one = onnx.initializer "one" dense<1> : tensor<i64> : tensor<i64>
    %last = onnx.initializer "last" dense<-1> : tensor<i64> : tensor<i64>
    %s = "onnx.SplitToSequence"(%x, %size) {axis = -1 : i64, onnx.results = ["s"]} : (tensor<?x10xf32>, tensor<i64>) -> !onnx.seq<tensor<*xf32>>
    %0 = "onnx.SequenceAt"(%s, %one) {onnx.results = ["a"]} : (!onnx.seq<tensor<*xf32>>, tensor<i64>) -> tensor<?x4xf32>
    %1 = "onnx.Neg"(%0) {onnx.results = ["b"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = "onnx.SequenceAt"(%s, %last) {onnx.results = ["c"]} : (!onnx.seq<tensor<*xf32>>, tensor<i64>) -> tensor<?x2xf32>
    %3 = "onnx.Neg"(%2) {onnx.results = ["d"]} : (tensor<?x2xf32>) -> tensor<?x2xf32>
    onnx.yield %1, %3 : tensor<?x4xf32>, tensor<?x2xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "b"}, {name = "d"}]}
  }
}

// -----

// Elements as they were put in; an index that is not there stays.
// CHECK-LABEL: module @construct
// CHECK: %[[C:.*]] = "onnx.SequenceAt"
// CHECK: "onnx.Neg"(%y)
module @construct attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>, %y: tensor<3xf32>):
    %one = onnx.initializer "one" dense<1> : tensor<i64> : tensor<i64>
    %two = onnx.initializer "two" dense<2> : tensor<i64> : tensor<i64>
    %s = "onnx.SequenceConstruct"(%x, %y) {onnx.results = ["s"]} : (tensor<2xf32>, tensor<3xf32>) -> !onnx.seq<tensor<?xf32>>
    %0 = "onnx.SequenceAt"(%s, %one) {onnx.results = ["a"]} : (!onnx.seq<tensor<?xf32>>, tensor<i64>) -> tensor<?xf32>
    %1 = "onnx.SequenceAt"(%s, %two) {onnx.results = ["c"]} : (!onnx.seq<tensor<?xf32>>, tensor<i64>) -> tensor<?xf32>
    %2 = "onnx.Neg"(%0) {onnx.results = ["b"]} : (tensor<?xf32>) -> tensor<?xf32>
    onnx.yield %2, %1 : tensor<?xf32>, tensor<?xf32> {onnx.inputs = [{name = "x"}, {name = "y"}], onnx.outputs = [{name = "b"}, {name = "c"}]}
  }
}

// -----

// Nothing is known of a sequence that comes from elsewhere.
// CHECK-LABEL: module @unknown
// CHECK: onnx.SequenceInsert
// CHECK: onnx.SequenceAt
// CHECK: onnx.ConcatFromSequence
module @unknown attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>, %i: !onnx.seq<tensor<2xf32>>):
    %one = onnx.initializer "one" dense<1> : tensor<i64> : tensor<i64>
    %s = "onnx.SequenceInsert"(%i, %x) {onnx.results = ["s"]} : (!onnx.seq<tensor<2xf32>>, tensor<2xf32>) -> !onnx.seq<tensor<2xf32>>
    %0 = "onnx.SequenceAt"(%s, %one) {onnx.results = ["a"]} : (!onnx.seq<tensor<2xf32>>, tensor<i64>) -> tensor<2xf32>
    %1 = "onnx.ConcatFromSequence"(%s) {axis = 0 : i64, onnx.results = ["c"]} : (!onnx.seq<tensor<2xf32>>) -> tensor<?xf32>
    onnx.yield %0, %1 : tensor<2xf32>, tensor<?xf32> {onnx.inputs = [{name = "x"}, {name = "i"}], onnx.outputs = [{name = "a"}, {name = "c"}]}
  }
}

// -----

// A part of unknown size is a slice; an output keeps its name.
// CHECK-LABEL: module @slice
// CHECK-NOT: onnx.SplitToSequence
// CHECK: "onnx.Slice"(%x{{.*}} {{.*}}onnx.results = ["a"]
module @slice attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?xf32>, %i: tensor<i64>):
    %size = onnx.initializer "size" dense<4> : tensor<i64> : tensor<i64>
    %s = "onnx.SplitToSequence"(%x, %size) {onnx.results = ["s"]} : (tensor<?xf32>, tensor<i64>) -> !onnx.seq<tensor<*xf32>>
    %0 = "onnx.SequenceAt"(%s, %i) {onnx.results = ["a"]} : (!onnx.seq<tensor<*xf32>>, tensor<i64>) -> tensor<*xf32>
    onnx.yield %0 : tensor<*xf32> {onnx.inputs = [{name = "x"}, {name = "i"}], onnx.outputs = [{name = "a"}]}
  }
}

// -----

// Elements that are put in and taken away one by one are joined in order; the
// nodes that follow have types again.
// CHECK-LABEL: module @insert
// CHECK-NOT: Sequence
// CHECK: %[[J:.*]] = "onnx.Concat"(%y, %x, %x)
// CHECK: "onnx.Neg"(%[[J]]) {{.*}} -> tensor<6xf32>
module @insert attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>, %y: tensor<2xf32>):
    %zero = onnx.initializer "zero" dense<0> : tensor<i64> : tensor<i64>
    %last = onnx.initializer "last" dense<-1> : tensor<i64> : tensor<i64>
    %e = "onnx.SequenceEmpty"() {onnx.results = ["e"]} : () -> !onnx.seq<tensor<*xf32>>
    %s = "onnx.SequenceInsert"(%e, %x) {onnx.results = ["s"]} : (!onnx.seq<tensor<*xf32>>, tensor<2xf32>) -> !onnx.seq<tensor<*xf32>>
    %t = "onnx.SequenceInsert"(%s, %y, %zero) {onnx.results = ["t"]} : (!onnx.seq<tensor<*xf32>>, tensor<2xf32>, tensor<i64>) -> !onnx.seq<tensor<*xf32>>
    %u = "onnx.SequenceInsert"(%t, %y, %last) {onnx.results = ["u"]} : (!onnx.seq<tensor<*xf32>>, tensor<2xf32>, tensor<i64>) -> !onnx.seq<tensor<*xf32>>
    %v = "onnx.SequenceInsert"(%u, %x) {onnx.results = ["v"]} : (!onnx.seq<tensor<*xf32>>, tensor<2xf32>) -> !onnx.seq<tensor<*xf32>>
    %w = "onnx.SequenceErase"(%v, %zero) {onnx.results = ["w"]} : (!onnx.seq<tensor<*xf32>>, tensor<i64>) -> !onnx.seq<tensor<*xf32>>
    %0 = "onnx.ConcatFromSequence"(%w) {axis = 0 : i64, onnx.results = ["c"]} : (!onnx.seq<tensor<*xf32>>) -> tensor<*xf32>
    %1 = "onnx.Neg"(%0) {onnx.results = ["d"]} : (tensor<*xf32>) -> tensor<*xf32>
    onnx.yield %1 : tensor<*xf32> {onnx.inputs = [{name = "x"}, {name = "y"}], onnx.outputs = [{name = "d"}]}
  }
}

// -----

// One of several tensors of one shape, by an index that is data.
// CHECK-LABEL: module @choose
// CHECK: %[[ALL:.*]] = "onnx.Concat"
// CHECK: "onnx.Gather"(%[[ALL]]{{.*}}onnx.results = ["a"]{{.*}} -> tensor<2xf32>
module @choose attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>, %y: tensor<2xf32>, %i: tensor<i64>):
    %s = "onnx.SequenceConstruct"(%x, %y) {onnx.results = ["s"]} : (tensor<2xf32>, tensor<2xf32>) -> !onnx.seq<tensor<2xf32>>
    %0 = "onnx.SequenceAt"(%s, %i) {onnx.results = ["a"]} : (!onnx.seq<tensor<2xf32>>, tensor<i64>) -> tensor<2xf32>
    onnx.yield %0 : tensor<2xf32> {onnx.inputs = [{name = "x"}, {name = "y"}, {name = "i"}], onnx.outputs = [{name = "a"}]}
  }
}

// -----

// Joined again, whatever the sizes were.
// CHECK-LABEL: module @join
// CHECK-NOT: Sequence
// CHECK: "onnx.Neg"(%x)
module @join attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x3xf32>, %n: tensor<?xi64>):
    %s = "onnx.SplitToSequence"(%x, %n) {axis = -2 : i64, onnx.results = ["s"]} : (tensor<?x3xf32>, tensor<?xi64>) -> !onnx.seq<tensor<*xf32>>
    %0 = "onnx.ConcatFromSequence"(%s) {axis = 0 : i64, onnx.results = ["c"]} : (!onnx.seq<tensor<*xf32>>) -> tensor<*xf32>
    %1 = "onnx.Neg"(%0) {onnx.results = ["d"]} : (tensor<*xf32>) -> tensor<*xf32>
    onnx.yield %1 : tensor<*xf32> {onnx.inputs = [{name = "x"}, {name = "n"}], onnx.outputs = [{name = "d"}]}
  }
}

// -----

// Parts of one element without their axis.
// CHECK-LABEL: module @single
// CHECK: %{{.*}}, %[[P:.*]] = "onnx.Split"(%x
// CHECK: %[[Q:.*]] = "onnx.Squeeze"(%[[P]]
// CHECK: "onnx.Neg"(%[[Q]])
module @single attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %one = onnx.initializer "one" dense<1> : tensor<i64> : tensor<i64>
    %none = onnx.absent
    %s = "onnx.SplitToSequence"(%x, %none) {keepdims = 0 : i64, onnx.results = ["s"]} : (tensor<2x3xf32>, none) -> !onnx.seq<tensor<3xf32>>
    %0 = "onnx.SequenceAt"(%s, %one) {onnx.results = ["a"]} : (!onnx.seq<tensor<3xf32>>, tensor<i64>) -> tensor<3xf32>
    %1 = "onnx.Neg"(%0) {onnx.results = ["b"]} : (tensor<3xf32>) -> tensor<3xf32>
    onnx.yield %1 : tensor<3xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "b"}]}
  }
}
