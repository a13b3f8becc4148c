// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify --mp-assign=prove-optimum=true | FileCheck %s

// Arithmetic on inputs before the first product is fp32, with the movement
// between its nodes; movement and choices after it are free.
// CHECK-LABEL: @before_products
// CHECK: "onnx.Transpose"{{.*}}mp.precision = #mp.precision<f32, reason = "computes with inputs before the first product"
// CHECK: "onnx.Sub"{{.*}}mp.precision = #mp.precision<f32, reason = "computes with inputs before the first product"
// CHECK: "onnx.Relu"{{.*}}mp.precision = #mp.precision<bf16
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<bf16
// CHECK: "onnx.Sub"{{.*}}mp.precision = #mp.precision<bf16
module @before_products attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %c = onnx.initializer "c" dense<500.0> : tensor<4x4xf32> : tensor<4x4xf32>
    %0 = "onnx.Transpose"(%x) {perm = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Sub"(%0, %c) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Relu"(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.MatMul"(%2, %c) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.Sub"(%3, %c) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = "onnx.MatMul"(%4, %c) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %5 : tensor<4x4xf32>
  }
}

// -----

// Rows of a table are weights: their sums are decided by the cut.
// CHECK-LABEL: @embedding
// CHECK: "onnx.Add"{{.*}}mp.precision = #mp.precision<bf16
module @embedding attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%i: tensor<4xi64>):
    %t = onnx.initializer "t" dense<0.5> : tensor<9x4xf32> : tensor<9x4xf32>
    %0 = "onnx.Gather"(%t, %i) : (tensor<9x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
    %1 = "onnx.Add"(%0, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.MatMul"(%1, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %2 : tensor<4x4xf32>
  }
}


// -----

// A coupling layer goes on with its input, which stays fp32 with the movement
// up to the next one; a mask times activations does not.
// CHECK-LABEL: @coupling
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<bf16
// CHECK: "onnx.Mul"(%arg0, %{{.*}}mp.precision = #mp.precision<f32, reason = "is an input times a factor, which is fp32"
// CHECK: "onnx.Add"{{.*}}mp.precision = #mp.precision<f32, reason = "is a sum with an input, which is fp32"
// CHECK: "onnx.Transpose"{{.*}}mp.precision = #mp.precision<f32
// CHECK: "onnx.Mul"{{.*}}mp.precision = #mp.precision<f32, reason = "is an input times a factor, which is fp32"
// CHECK: "onnx.Mul"(%{{.*}}, %arg2) {{.*}}mp.precision = #mp.precision<bf16
module @coupling attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %mask: tensor<4x1xf32>):
    %w = onnx.initializer "w" dense<0.5> : tensor<4x4xf32> : tensor<4x4xf32>
    %0 = "onnx.MatMul"(%y, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%0, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Mul"(%x, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Add"(%2, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.Transpose"(%3) {perm = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = "onnx.Mul"(%4, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %6 = "onnx.Mul"(%1, %mask) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
    %7 = "onnx.MatMul"(%5, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %8 = "onnx.MatMul"(%6, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %7, %8 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}
