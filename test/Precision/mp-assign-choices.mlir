// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify --mp-assign=prove-optimum=true | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify --mp-assign=assign=first-operand | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-set-policy=allow=ReduceMax --mp-classify --mp-assign | FileCheck %s --check-prefix=ALLOW
// RUN: mp-opt %s --split-input-file --mp-set-policy=deny=Equal --mp-classify --mp-assign | FileCheck %s --check-prefix=DENY

// Which element is the maximum is asked in the precision that it was taken in,
// whatever the nodes cost that move it there.
// CHECK-LABEL: module @of_16_bit
// CHECK: "onnx.ReduceMax"{{.*}}mp.precision = #mp.precision<bf16
// CHECK: "onnx.Unsqueeze"{{.*}}mp.precision = #mp.precision<bf16
// CHECK: "onnx.Equal"{{.*}}mp.precision = #mp.precision<bf16
// DENY-LABEL: module @of_16_bit
// DENY: "onnx.ReduceMax"{{.*}}mp.precision = #mp.precision<f32
// DENY: "onnx.Unsqueeze"{{.*}}mp.precision = #mp.precision<f32
// DENY: "onnx.Equal"{{.*}}mp.precision = #mp.precision<f32
module @of_16_bit attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%a: tensor<8x4xf32>, %w: tensor<4x4xf32>):
    %axes = onnx.initializer "axes" dense<1> : tensor<1xi64> : tensor<1xi64>
    %x = "onnx.MatMul"(%a, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %y = "onnx.ReduceMax"(%x, %axes) {keepdims = 0 : i64} : (tensor<8x4xf32>, tensor<1xi64>) -> tensor<8xf32>
    %z = "onnx.MatMul"(%y, %a) : (tensor<8xf32>, tensor<8x4xf32>) -> tensor<4xf32>
    %u = "onnx.Unsqueeze"(%y, %axes) : (tensor<8xf32>, tensor<1xi64>) -> tensor<8x1xf32>
    %e = "onnx.Equal"(%x, %u) : (tensor<8x4xf32>, tensor<8x1xf32>) -> tensor<8x4xi1>
    onnx.yield %z, %e : tensor<4xf32>, tensor<8x4xi1>
  }
}

// -----

// Blocks of pixels are movement, too.
// CHECK-LABEL: module @of_blocks
// CHECK: "onnx.Equal"{{.*}}mp.precision = #mp.precision<bf16
// DENY-LABEL: module @of_blocks
// DENY: "onnx.ReduceMax"{{.*}}mp.precision = #mp.precision<f32
// DENY: "onnx.DepthToSpace"{{.*}}mp.precision = #mp.precision<f32
// DENY: "onnx.DepthToSpace"{{.*}}mp.precision = #mp.precision<f32
// DENY: "onnx.Equal"{{.*}}mp.precision = #mp.precision<f32
module @of_blocks attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%a: tensor<2x4x2x2xf32>, %w: tensor<2x2xf32>):
    %axes = onnx.initializer "axes" dense<0> : tensor<1xi64> : tensor<1xi64>
    %x = "onnx.MatMul"(%a, %w) : (tensor<2x4x2x2xf32>, tensor<2x2xf32>) -> tensor<2x4x2x2xf32>
    %y = "onnx.ReduceMax"(%x, %axes) {keepdims = 1 : i64} : (tensor<2x4x2x2xf32>, tensor<1xi64>) -> tensor<1x4x2x2xf32>
    %z = "onnx.MatMul"(%y, %w) : (tensor<1x4x2x2xf32>, tensor<2x2xf32>) -> tensor<1x4x2x2xf32>
    %dx = "onnx.DepthToSpace"(%x) {blocksize = 2 : i64} : (tensor<2x4x2x2xf32>) -> tensor<2x1x4x4xf32>
    %dy = "onnx.DepthToSpace"(%y) {blocksize = 2 : i64} : (tensor<1x4x2x2xf32>) -> tensor<1x1x4x4xf32>
    %e = "onnx.Equal"(%dx, %dy) : (tensor<2x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<2x1x4x4xi1>
    onnx.yield %z, %e : tensor<1x4x2x2xf32>, tensor<2x1x4x4xi1>
  }
}

// -----

// A list that has the node in 16 bit has the comparison there, too.
// CHECK-LABEL: module @of_f32
// CHECK: "onnx.ReduceMax"{{.*}}mp.precision = #mp.precision<f32
// CHECK: "onnx.Unsqueeze"{{.*}}mp.precision = #mp.precision<f32
// CHECK: "onnx.Equal"{{.*}}mp.precision = #mp.precision<f32
// ALLOW-LABEL: module @of_f32
// ALLOW: "onnx.ReduceMax"{{.*}}mp.precision = #mp.precision<bf16
// ALLOW: "onnx.Unsqueeze"{{.*}}mp.precision = #mp.precision<bf16
// ALLOW: "onnx.Equal"{{.*}}mp.precision = #mp.precision<bf16
module @of_f32 attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%a: tensor<8x4xf32>, %w: tensor<4x4xf32>):
    %axes = onnx.initializer "axes" dense<1> : tensor<1xi64> : tensor<1xi64>
    %x = "onnx.Softmax"(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %y = "onnx.ReduceMax"(%x, %axes) {keepdims = 0 : i64} : (tensor<8x4xf32>, tensor<1xi64>) -> tensor<8xf32>
    %z = "onnx.MatMul"(%y, %a) : (tensor<8xf32>, tensor<8x4xf32>) -> tensor<4xf32>
    %u = "onnx.Unsqueeze"(%y, %axes) : (tensor<8xf32>, tensor<1xi64>) -> tensor<8x1xf32>
    %e = "onnx.Equal"(%u, %x) : (tensor<8x1xf32>, tensor<8x4xf32>) -> tensor<8x4xi1>
    onnx.yield %z, %e : tensor<4xf32>, tensor<8x4xi1>
  }
}

// -----

// A sum that is compared with its operand may not become 16 bit for it: a
// comparison rounds nothing. One of two others decides nothing.
// CHECK-LABEL: module @others
// CHECK: "onnx.Add"(%h, %{{.*}}){{.*}}mp.precision = #mp.precision<f32
// CHECK: "onnx.Equal"(%h, %s){{.*}}mp.precision = #mp.precision<f32
// CHECK: "onnx.Neg"{{.*}}mp.precision = #mp.precision<bf16
// CHECK: "onnx.Equal"(%n, %h){{.*}}mp.precision = #mp.precision<f32
module @others attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%a: tensor<4x4xf32>, %k: tensor<4x4xf32>):
    %h = "onnx.Softmax"(%a) {onnx.results = ["h"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %s = "onnx.Add"(%h, %k) {onnx.results = ["s"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %e = "onnx.Equal"(%h, %s) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>
    %m = "onnx.MatMul"(%s, %s) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %n = "onnx.Neg"(%m) {onnx.results = ["n"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %f = "onnx.Equal"(%n, %h) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>
    %o = "onnx.MatMul"(%n, %n) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %e, %f, %o : tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xf32>
  }
}
