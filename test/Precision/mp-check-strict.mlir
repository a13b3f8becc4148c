// RUN: mp-opt %s --mp-set-policy="allow=Relu strict" --mp-classify --mp-assign --mp-check-strict
// RUN: mp-opt %s --mp-set-policy="allow=Softmax,Frob,Shrink allow-nodes=sel" --mp-classify --mp-assign --mp-check-strict | FileCheck %s

// Nothing happens where every wish is granted, where only the built-in list
// asks for 16 bit (Einsum, which has no bf16 at this opset), where a wish of a
// list gives way to shape arithmetic, and where the policy is not strict.
// CHECK: denied_by = "custom op"
module attributes {onnx.opset_import = [["", 17], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>, %c: tensor<i1>, %i: tensor<4xi64>, %d: tensor<i64>, %v: tensor<2xf32>):
    %0 = onnx.custom "my" "Frob" (%x) attributes {onnx.name = "frob"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.If"(%c) ({
      %t = "onnx.Softmax"(%x) {onnx.name = "fine"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %t : tensor<4x4xf32>
    }, {
      onnx.yield %x : tensor<4x4xf32>
    }) {onnx.name = "branch", onnx.regions = ["then_branch", "else_branch"]} : (tensor<i1>) -> tensor<4x4xf32>
    %2 = "onnx.Shrink"(%x) {onnx.name = "shrunk"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Einsum"(%x, %x) {onnx.name = "einsum", equation = "ij,jk->ik"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.OneHot"(%i, %d, %v) {onnx.name = "sel"} : (tensor<4xi64>, tensor<i64>, tensor<2xf32>) -> tensor<4x?xf32>
    %5 = "onnx.Relu"(%x) {onnx.name = "shape"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %6 = "onnx.Cast"(%5) {to = 7 : i64} : (tensor<4x4xf32>) -> tensor<4x4xi64>
    onnx.yield %0, %1, %2, %3, %4, %6 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x?xf32>, tensor<4x4xi64>
  }
}
