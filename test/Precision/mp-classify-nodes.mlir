// RUN: mp-opt %s --mp-set-policy="deny-nodes=enc/.* allow-nodes=head deny=Gemm" --mp-classify \
// RUN:   | FileCheck %s

// A pattern matches whole names and beats every list.
// CHECK-LABEL: @patterns
// CHECK: mp.class = #mp.class<deny, reason = "node override"{{.*}}, override>, onnx.name = "enc/0"
// CHECK: mp.class = #mp.class<allow, reason = "built-in list"{{.*}}>, onnx.name = "my_enc/1"
// CHECK: mp.class = #mp.class<allow, reason = "node override"{{.*}}, override>, onnx.name = "head"
// CHECK: mp.class = #mp.class<deny, reason = "user's list"{{.*}}>, onnx.name = "head2"
module @patterns attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) {onnx.name = "enc/0"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%0, %x) {onnx.name = "my_enc/1"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Gemm"(%1, %x) {onnx.name = "head"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Gemm"(%2, %x) {onnx.name = "head2"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %3 : tensor<4x4xf32>
  }
}
