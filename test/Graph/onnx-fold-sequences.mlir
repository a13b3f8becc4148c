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

// Parts whose sizes are not known stay a sequence; so does an output.
// CHECK-LABEL: module @unknown
// CHECK: onnx.SplitToSequence
// CHECK: onnx.SequenceAt
module @unknown attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?xf32>):
    %size = onnx.initializer "size" dense<4> : tensor<i64> : tensor<i64>
    %s = "onnx.SplitToSequence"(%x, %size) {onnx.results = ["s"]} : (tensor<?xf32>, tensor<i64>) -> !onnx.seq<tensor<*xf32>>
    %0 = "onnx.SequenceAt"(%s, %size) {onnx.results = ["a"]} : (!onnx.seq<tensor<*xf32>>, tensor<i64>) -> tensor<*xf32>
    onnx.yield %0 : tensor<*xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "a"}]}
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
