// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// The part of a gradient that changes no statistic.

// Statistics are computed again.
// CHECK-LABEL: module @instance_norm
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: "onnx.ReduceSum"(%x
// CHECK: "onnx.Sqrt"
// CHECK: "onnx.Reciprocal"
module @instance_norm attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3x4xf32>, %w: tensor<3xf32>, %b: tensor<3xf32>):
    %t = "onnx.InstanceNormalization"(%x, %w, %b) {onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x3x4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "b"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// Along the axis and by the norm that are the defaults; zeros have no
// direction.
// CHECK-LABEL: module @lp_norm
// CHECK: "onnx.Mul"(%x, %x)
// CHECK: "onnx.Sqrt"
// CHECK: %[[ZERO:.*]] = "onnx.Equal"
// CHECK: "onnx.Where"(%[[ZERO]]
module @lp_norm attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %t = "onnx.LpNormalization"(%x) {onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x3xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @rank attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %b: tensor<3xf32>):
    // expected-error @below {{expected an operand of known rank, 3 or more}}
    %t = "onnx.InstanceNormalization"(%x, %w, %b) {onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x3xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "b"}], onnx.outputs = [{name = "loss"}]}
  }
}
