// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// By the gradients of the training vocabulary, with explicit pads.

// CHECK-LABEL: module @conv
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[X:.*]] = "onnx.com.microsoft.ConvGrad"(%[[GRAD]], %x, %w) {{.*}}pads = array<i64: 0, 0, 0, 0>
// CHECK: mp.gradient %[[X]] of %x
module @conv attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x3x3xf32>):
    %t = "onnx.Conv"(%x, %w) {onnx.name = "node", onnx.results = ["t"]} : (tensor<1x2x4x4xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x2x2xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<1x3x2x2xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// Runtimes do not work out others there.
// CHECK-LABEL: module @same
// CHECK: "onnx.com.microsoft.ConvGrad"
// CHECK-NOT: auto_pad
// CHECK-SAME: pads = array<i64: 1, 1, 1, 1>
module @same attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x3x3xf32>):
    %t = "onnx.Conv"(%x, %w) {auto_pad = "SAME_UPPER", onnx.name = "node", onnx.results = ["t"]} : (tensor<1x2x4x4xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x4x4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<1x3x4x4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @unknown_rank attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<*xf32>, %w: tensor<3x2x3x3xf32>):
    // expected-error @below {{expected operands of known rank, and attributes that fit}}
    %t = "onnx.Conv"(%x, %w) {onnx.name = "node", onnx.results = ["t"]} : (tensor<*xf32>, tensor<3x2x3x3xf32>) -> tensor<*xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<*xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}]}
  }
}
