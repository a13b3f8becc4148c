// RUN: mp-opt %s --mp-set-policy=precision=bf16 --mp-classify --mp-assign --mp-check-inputs \
// RUN:   --verify-diagnostics | FileCheck %s
// RUN: mp-opt %s --mp-set-policy=precision=fp16 --mp-classify --mp-assign --mp-check-inputs \
// RUN:   2>&1 | FileCheck %s --check-prefix=FP16

// bf16 has the range of fp32: no warning.
// CHECK: "onnx.MatMul"{{.*}} mp.precision = #mp.precision<bf16
// FP16: warning: squares or long sums of inputs
module @gram attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0 : tensor<4x4xf32>
  }
}
