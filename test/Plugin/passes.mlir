// RUN: mlir-opt --load-dialect-plugin=%mp_plugin \
// RUN:   --load-pass-plugin=%mp_plugin %s \
// RUN:   --pass-pipeline="builtin.module(mp-set-policy{precision=bf16},mp-classify,mp-assign,mp-insert-casts)" \
// RUN:   | FileCheck %s
// REQUIRES: mlir-opt

// The passes run inside stock mlir-opt.

module attributes {onnx.opset_import = [["", 17]]} {
  // CHECK-LABEL: onnx.graph
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>):
    // CHECK: "onnx.MatMul"
    // CHECK-SAME: (tensor<2x4xbf16>, tensor<4x3xbf16>) -> tensor<2x3xbf16>
    %0 = "onnx.MatMul"(%x, %w) {onnx.name = "mm", onnx.results = ["h"]}
      : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    // CHECK: "onnx.Softmax"
    // CHECK-SAME: (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = "onnx.Softmax"(%0) {onnx.name = "sm", onnx.results = ["y"]}
      : (tensor<2x3xf32>) -> tensor<2x3xf32>
    onnx.yield %1 : tensor<2x3xf32> {
      onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}
