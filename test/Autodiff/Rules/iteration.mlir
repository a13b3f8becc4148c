// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// The iterations the other way round, with what the forward ones have saved.

// The states before each iteration are one more output; the backward node reads
// them, and its inputs, from the last one on.
// CHECK-LABEL: module @scan
// CHECK: %t, %[[STATES:.*]] = "onnx.Scan"(%h, %x)
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %{{.*}}, %[[X:.*]] = "onnx.Scan"(%[[GRAD]], %[[STATES]], %x)
// CHECK: "onnx.Mul"
// CHECK: scan_input_directions = array<i64: 1, 1>
// CHECK: mp.gradient %[[X]] of %x
module @scan attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%h: tensor<3xf32>, %x: tensor<2x3xf32>):
    %t = "onnx.Scan"(%h, %x) ({
    ^bb0(%s: tensor<3xf32>, %e: tensor<3xf32>):
      %n = "onnx.Mul"(%s, %e) {onnx.results = ["n"]} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      onnx.yield %n : tensor<3xf32> {onnx.inputs = [{name = "s"}, {name = "e"}], onnx.outputs = [{name = "n"}]}
    }) {num_scan_inputs = 1 : i64, onnx.name = "node", onnx.regions = ["body"], onnx.results = ["t"]} : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<3xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "h"}, {name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @inputs attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%h: tensor<3xf32>, %x: tensor<2x3xf32>):
    // expected-error @below {{its inputs are not those of its body}}
    %t = "onnx.Scan"(%h, %x) ({
    ^bb0(%s: tensor<3xf32>, %e: tensor<3xf32>):
      %n = "onnx.Mul"(%s, %e) {onnx.results = ["n"]} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      onnx.yield %n : tensor<3xf32> {onnx.inputs = [{name = "s"}, {name = "e"}], onnx.outputs = [{name = "n"}]}
    }) {num_scan_inputs = 3 : i64, onnx.name = "node", onnx.regions = ["body"], onnx.results = ["t"]} : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<3xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "h"}, {name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
