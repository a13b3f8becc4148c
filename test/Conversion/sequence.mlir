// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// Sequences are lists that are known while compiling: only tensors are left.

// Parts of a known number are views.
// CHECK-LABEL: mp.name = "whole"
// CHECK: %[[PART:.*]] = tensor.extract_slice %{{.*}}[2, 0] [2, 3] [1, 1]
// CHECK: return %[[PART]]
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%whole: tensor<4x3xf32>):
    %two = onnx.initializer "two" dense<2> : tensor<i64> : tensor<i64>
    %one = onnx.initializer "one" dense<1> : tensor<i64> : tensor<i64>
    %parts = "onnx.SplitToSequence"(%whole, %two) {axis = 0 : i64} : (tensor<4x3xf32>, tensor<i64>) -> !onnx.seq<tensor<?x3xf32>>
    %0 = "onnx.SequenceAt"(%parts, %one) : (!onnx.seq<tensor<?x3xf32>>, tensor<i64>) -> tensor<2x3xf32>
    onnx.yield %0 : tensor<2x3xf32> {onnx.inputs = [{name = "whole"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Elements one behind the other are a Concat.
// CHECK-LABEL: mp.name = "first"
// CHECK: tensor.insert_slice %{{.*}} : tensor<2x3xf32> into tensor<3x3xf32>
// CHECK: tensor.insert_slice %{{.*}} : tensor<1x3xf32> into tensor<3x3xf32>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%first: tensor<2x3xf32>, %second: tensor<1x3xf32>):
    %list = "onnx.SequenceConstruct"(%first, %second) : (tensor<2x3xf32>, tensor<1x3xf32>) -> !onnx.seq<tensor<?x3xf32>>
    %0 = "onnx.ConcatFromSequence"(%list) {axis = 0 : i64} : (!onnx.seq<tensor<?x3xf32>>) -> tensor<3x3xf32>
    onnx.yield %0 : tensor<3x3xf32> {onnx.inputs = [{name = "first"}, {name = "second"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %three = onnx.initializer "three" dense<3> : tensor<i64> : tensor<i64>
    %list = "onnx.SequenceConstruct"(%x) : (tensor<2x3xf32>) -> !onnx.seq<tensor<?x3xf32>>
    // expected-error @below {{position 3 of a sequence of 1}}
    %0 = "onnx.SequenceAt"(%list, %three) : (!onnx.seq<tensor<?x3xf32>>, tensor<i64>) -> tensor<2x3xf32>
    onnx.yield %0 : tensor<2x3xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
