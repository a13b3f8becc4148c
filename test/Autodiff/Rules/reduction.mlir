// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// Spread over what was reduced.

// CHECK-LABEL: module @mean
// CHECK: %[[WIDE:.*]] = "onnx.Expand"(%{{.*}} -> tensor<2x3xf32>
// CHECK: %[[X:.*]] = "onnx.Div"(%[[WIDE]]
// CHECK: mp.gradient %[[X]] of %x
module @mean attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %axes = onnx.initializer "axes" dense<[1]> : tensor<1xi64> : tensor<1xi64>
    %t = "onnx.ReduceMean"(%x, %axes) {onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2x1xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x1xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// All that are the greatest share it.
// CHECK-LABEL: module @max
// CHECK: %[[IS_MAX:.*]] = "onnx.Equal"(%x, %t)
// CHECK: "onnx.ReduceSum"
// CHECK: "onnx.Where"(%[[IS_MAX]]
module @max attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %axes = onnx.initializer "axes" dense<[1]> : tensor<1xi64> : tensor<1xi64>
    %t = "onnx.ReduceMax"(%x, %axes) {onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2x1xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x1xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// CHECK-LABEL: module @softmax
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: "onnx.com.microsoft.SoftmaxGrad_13"(%[[GRAD]], %t) {axis = -1 : i64
module @softmax attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %t = "onnx.Softmax"(%x) {onnx.name = "node", onnx.results = ["t"]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x3xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module @top_k attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %k = onnx.initializer "k" dense<[1]> : tensor<1xi64> : tensor<1xi64>
    // expected-error @below {{its indices are left out}}
    %t, %t1 = "onnx.TopK"(%x, %k) {onnx.name = "node", onnx.results = ["t", "t1"]} : (tensor<2x3xf32>, tensor<1xi64>) -> (tensor<2x1xf32>, none)
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x1xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
