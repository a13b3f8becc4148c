// RUN: not mp-opt %s --mp-set-policy="allow=Softmax,Frob,Shrink allow-nodes=sel strict" --mp-classify --mp-assign --mp-check-strict 2>&1 | FileCheck %s
// RUN: not mp-opt %s --mp-mixed-precision="allow=Shrink strict" 2>&1 | FileCheck %s --check-prefix=PIPELINE
// RUN: %python -c "import subprocess as s; assert s.call('mp-opt %s \'--mp-mixed-precision=allow=Shrink strict\'', shell=True) == 4"

// All wishes that cannot be granted are in one error.
// CHECK: error: 3 nodes cannot run in bf16 as asked
// CHECK: note: node 'frob' (my.Frob): custom op; asked in --allow
// CHECK: note: node 'shrunk' (Shrink-9): {{.*}}; asked in --allow
// CHECK: note: node 'sel' (OneHot-11): {{.*}}; asked in --allow-node
// CHECK-NOT: asked in
// PIPELINE: error: 1 node cannot run in bf16 as asked
// PIPELINE: note: node 'shrunk' (Shrink-9)
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
