// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// Matrix products are one op each; transposes are maps of it.

// Batches in front of one matrix.
// CHECK-LABEL: mp.name = "batched"
// CHECK: kernel.contract {indexing_maps = [#{{.*}}, #{{.*}}, #{{.*}}]} ins(%{{.*}}, %{{.*}} : tensor<5x2x3xf32>, tensor<3x4xf32>) outs(%{{.*}} : tensor<5x2x4xf32>)
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%batched: tensor<5x2x3xf32>, %b: tensor<3x4xf32>):
    %0 = "onnx.MatMul"(%batched, %b) : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
    onnx.yield %0 : tensor<5x2x4xf32> {onnx.inputs = [{name = "batched"}, {name = "b"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Alpha is a factor of what is stored; the bias and its factor come behind.
// CHECK-LABEL: mp.name = "turned"
// CHECK: %[[PRODUCT:.*]] = kernel.contract
// CHECK: arith.constant 2.000000e+00
// CHECK: arith.mulf
// CHECK: kernel.yield
// CHECK: linalg.generic {{.*}} ins(%[[PRODUCT]], %{{.*}} : tensor<2x4xf32>, tensor<4xf32>)
// CHECK: arith.constant 3.000000e+00
// CHECK: arith.mulf
// CHECK: arith.addf
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%turned: tensor<3x2xf32>, %b: tensor<3x4xf32>, %c: tensor<4xf32>):
    %0 = "onnx.Gemm"(%turned, %b, %c) {transA = 1 : i64, alpha = 2.0 : f32, beta = 3.0 : f32} : (tensor<3x2xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    onnx.yield %0 : tensor<2x4xf32> {onnx.inputs = [{name = "turned"}, {name = "b"}, {name = "c"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// 16 bit is summed in fp32 and rounded once.
// CHECK-LABEL: mp.name = "half"
// CHECK: kernel.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<2x3xbf16>, tensor<4x3xbf16>) outs(%{{.*}} : tensor<2x4xbf16>)
// CHECK: %[[SUM:.*]]: f32
// CHECK: arith.truncf %[[SUM]] : f32 to bf16
module attributes {onnx.opset_import = [["", 18], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%half: tensor<2x3xbf16>, %b: tensor<4x3xbf16>):
    %0 = "onnx.com.microsoft.FusedMatMul"(%half, %b) {transB = 1 : i64} : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<2x4xbf16>
    onnx.yield %0 : tensor<2x4xbf16> {onnx.inputs = [{name = "half"}, {name = "b"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%a: tensor<3x2xf32>, %b: tensor<4x5xf32>):
    // expected-error @below {{(Gemm-13): inner sizes 2 and 4 differ}}
    %0 = "onnx.Gemm"(%a, %b) : (tensor<3x2xf32>, tensor<4x5xf32>) -> tensor<?x?xf32>
    onnx.yield %0 : tensor<?x?xf32> {onnx.inputs = [{name = "a"}, {name = "b"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x5x3xf32>, %b: tensor<5x3x4xf32>):
    // expected-error @below {{transposed batches cannot be compiled}}
    %0 = "onnx.com.microsoft.FusedMatMul"(%x, %b) {transBatchA = 1 : i64} : (tensor<2x5x3xf32>, tensor<5x3x4xf32>) -> tensor<2x5x4xf32>
    onnx.yield %0 : tensor<2x5x4xf32> {onnx.inputs = [{name = "x"}, {name = "b"}], onnx.outputs = [{name = "y"}]}
  }
}
