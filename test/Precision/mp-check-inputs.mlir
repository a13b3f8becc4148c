// RUN: mp-opt %s --mp-set-policy='precision=fp16 deny=Sqrt' --mp-classify --mp-assign \
// RUN:   --mp-check-inputs --verify-diagnostics | FileCheck %s

// Behind a bound, a normalization, a root, a division by what is computed and a
// contraction with weights; products of different inputs, of a parameter; a
// sum of few elements.
// CHECK: "onnx.MatMul"{{.*}} mp.precision = #mp.precision<f16
module @quiet attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>, %z: tensor<4x4xf32>, %p: tensor<4x4xf32>):
    %d = onnx.initializer "p" dense<0.5> : tensor<4x4xf32> overridable : tensor<4x4xf32>
    %w = onnx.initializer "w" dense<0.5> : tensor<4x4xf32> : tensor<4x4xf32>
    %s = onnx.initializer "s" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %axes = onnx.initializer "axes" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %0 = "onnx.Tanh"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Mul"(%0, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.MatMul"(%1, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.LayerNormalization"(%x, %s) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.MatMul"(%3, %3) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = "onnx.ReduceL2"(%x) {axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x1xf32>
    %6 = "onnx.Div"(%x, %5) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
    %7 = "onnx.MatMul"(%6, %6) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %8 = "onnx.MatMul"(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %9 = "onnx.MatMul"(%8, %8) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %10 = "onnx.MatMul"(%x, %z) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %11 = "onnx.MatMul"(%p, %p) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %12 = "onnx.Mul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %13 = "onnx.ReduceSum"(%12, %axes) : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<4x1xf32>
    %14 = "onnx.Sqrt"(%13) {onnx.name = "root"} : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %15 = "onnx.MatMul"(%w, %14) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
    %16 = "onnx.ReduceSum"(%x, %axes) : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<4x1xf32>
    %17 = "onnx.MatMul"(%w, %16) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
    onnx.yield %2, %4, %7, %9, %10, %11, %15, %17 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x1xf32>, tensor<4x1xf32> {onnx.inputs = [{name = "x"}, {name = "z"}, {name = "p"}]}
  }
}
