// RUN: mp-opt %s --mp-set-policy=allow-nodes=asked --mp-classify --mp-assign=min-saving=30 | FileCheck %s

// What a rule for a node asks for is kept, whatever its region saves.
// CHECK-LABEL: @asked
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<bf16
module @asked attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) {onnx.name = "asked"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0 : tensor<4x4xf32>
  }
}
