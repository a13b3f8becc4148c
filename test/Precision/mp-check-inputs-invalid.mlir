// RUN: mp-opt %s --split-input-file --mp-set-policy='precision=fp16 \
// RUN:   allow=ReduceSum,ReduceSumSquare allow-nodes=own' --mp-classify --mp-assign \
// RUN:   --mp-check-inputs --verify-diagnostics

// A Gram matrix, and what reads it; a product of a scaled difference that is
// squared in fp32; not the node that the user names.
module @products attributes {onnx.opset_import = [["", 17]]} {
  // expected-warning@below {{squares or long sums of inputs of unknown range are in fp16, which ends at 65504: node 'gram' (MatMul-13) of 'x', node 'head' (MatMul-13) of 'x', node 'tail' (MatMul-13) of 'x'; --deny-node='gram|head|tail' keeps them fp32}}
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>, %z: tensor<4x4xf32>):
    %w = onnx.initializer "w" dense<0.5> : tensor<4x4xf32> : tensor<4x4xf32>
    %0 = "onnx.Transpose"(%x) {perm = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%x, %0) {onnx.name = "gram"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.MatMul"(%1, %w) {onnx.name = "head"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Sub"(%x, %z) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.Mul"(%3, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = "onnx.Mul"(%4, %4) {onnx.name = "square"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %6 = "onnx.MatMul"(%5, %w) {onnx.name = "tail"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %7 = "onnx.MatMul"(%x, %x) {onnx.name = "own"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %2, %6, %7 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32> {onnx.inputs = [{name = "x"}, {name = "z"}]}
  }
}

// -----

// Sums of squares and long sums that a list allows.
module @reductions attributes {onnx.opset_import = [["", 17]]} {
  // expected-warning@below {{node 'squares' (ReduceSumSquare-13) of 'x', node 'sum' (ReduceSum-13) of 'x'; --deny-node='squares|sum' keeps them fp32}}
  onnx.graph {
  ^bb0(%x: tensor<4x65xf32>):
    %axes = onnx.initializer "axes" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %0 = "onnx.ReduceSumSquare"(%x) {axes = array<i64: 1>, onnx.name = "squares"} : (tensor<4x65xf32>) -> tensor<4x1xf32>
    %1 = "onnx.ReduceSum"(%x, %axes) {onnx.name = "sum"} : (tensor<4x65xf32>, tensor<1xi64>) -> tensor<4x1xf32>
    %own = "onnx.Relu"(%x) {onnx.name = "own"} : (tensor<4x65xf32>) -> tensor<4x65xf32>
    onnx.yield %0, %1 : tensor<4x1xf32>, tensor<4x1xf32> {onnx.inputs = [{name = "x"}]}
  }
}

// -----

// The power is fp32 by the built-in list, and read in fp16.
module @read attributes {onnx.opset_import = [["", 17]]} {
  // expected-warning@below {{node 'reader' (MatMul-13) of 'x'; --deny-node='reader' keeps them fp32}}
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %k = onnx.initializer "k" dense<2.0> : tensor<f32> : tensor<f32>
    %w = onnx.initializer "w" dense<0.5> : tensor<4x4xf32> : tensor<4x4xf32>
    %1 = "onnx.Pow"(%x, %k) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
    %2 = "onnx.MatMul"(%1, %w) {onnx.name = "reader"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %own = "onnx.Relu"(%x) {onnx.name = "own"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1, %2 : tensor<4x4xf32>, tensor<4x4xf32> {onnx.inputs = [{name = "x"}]}
  }
}
