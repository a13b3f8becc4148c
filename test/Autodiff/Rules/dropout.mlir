// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// The mask that the forward pass has drawn.

// Where nothing is dropped there is none.
// CHECK-LABEL: module @inference
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: mp.gradient %[[GRAD]] of %x
module @inference attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %t = "onnx.Dropout"(%x) {onnx.name = "node", onnx.results = ["t"]} : (tensor<4xf32>) -> tensor<4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

// Where something is, the node gets its second result.
// CHECK-LABEL: module @training
// CHECK: %t, %[[MASK:.*]] = "onnx.Dropout"(%x, %ratio, %training)
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: "onnx.com.microsoft.DropoutGrad"(%[[GRAD]], %[[MASK]], %ratio, %training)
module @training attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %ratio = onnx.initializer "ratio" dense<0.5> : tensor<f32> : tensor<f32>
    %training = onnx.initializer "training" dense<true> : tensor<i1> : tensor<i1>
    %t = "onnx.Dropout"(%x, %ratio, %training) {onnx.name = "node", onnx.results = ["t"]} : (tensor<4xf32>, tensor<f32>, tensor<i1>) -> tensor<4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
