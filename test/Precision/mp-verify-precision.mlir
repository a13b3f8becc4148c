// RUN: mp-opt %s --split-input-file --mp-verify-precision | FileCheck %s

// A node counts by what it yields; inserted casts do not count as nodes.
// Of the attributes only the summary is left.
// CHECK: module @summary attributes {mp.summary = {casts_inserted = 2 : i64, casts_removed = 0 : i64, cost_bytes = 0 : i64, nodes_f32 = 1 : i64, nodes_low = 1 : i64, nodes_other = 1 : i64, precision = "bf16"}, onnx.opset_import
// CHECK-NOT: mp.
module @summary attributes {mp.policy = #mp.policy<bf16>, mp.casts_inserted = 2 : i64, mp.input_types = [tensor<4x4xf32>], mp.output_types = [tensor<4x4xf32>, tensor<2xi64>], onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.Cast"(%x) {mp.inserted, to = 16 : i64} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    %1 = "onnx.MatMul"(%0, %0) {mp.class = #mp.class<allow>, mp.precision = #mp.precision<bf16>} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
    %2 = "onnx.Cast"(%1) {mp.inserted, to = 1 : i64} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
    %3 = "onnx.Softmax"(%2) {mp.class = #mp.class<deny>, mp.precision = #mp.precision<f32>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.Shape"(%1) {mp.class = #mp.class<follow>, mp.precision = #mp.precision<bf16>} : (tensor<4x4xbf16>) -> tensor<2xi64>
    onnx.yield %3, %4 : tensor<4x4xf32>, tensor<2xi64>
  }
}

// -----

// What the model itself has in 16 bit is no mistake: the results of its own
// casts, and loop-carried values of several types.
// CHECK-LABEL: @of_the_model
// CHECK-SAME: nodes_f32 = 1 : i64, nodes_low = 1 : i64
module @of_the_model attributes {mp.policy = #mp.policy<f16>, onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4xf32>, %h: tensor<4xf16>):
    %0 = "onnx.Cast"(%h) {mp.precision = #mp.precision<f16>, to = 10 : i64} : (tensor<4xf16>) -> tensor<4xf16>
    %1:2 = "onnx.Loop"(%n, %c, %x, %h) ({
    ^bb0(%i: tensor<i64>, %k: tensor<i1>, %s: tensor<4xf32>, %t: tensor<4xf16>):
      onnx.yield %k, %s, %t : tensor<i1>, tensor<4xf32>, tensor<4xf16>
    }) {mp.precision = #mp.precision<f32, variables = [f32, none]>, onnx.regions = ["body"]} : (tensor<i64>, tensor<i1>, tensor<4xf32>, tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>)
    onnx.yield %0, %1#0, %1#1 : tensor<4xf16>, tensor<4xf32>, tensor<4xf16>
  }
}
