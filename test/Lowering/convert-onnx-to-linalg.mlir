// RUN: mp-opt %s --convert-onnx-to-linalg=dim=N=2 --split-input-file | FileCheck %s

// A shape that is computed from sizes needs no code; the bound size is in the
// types.
// CHECK-LABEL: module @arguments
// CHECK: func.func @main(%[[X:.*]]: tensor<2x4xf32> {mp.element = f32, mp.name = "x"}
// CHECK-SAME: tensor<4xf32> {mp.element = f32, mp.name = "w_new", mp.state = 1 : i64}
// CHECK-NOT: tensor<2xi64>
// CHECK: %[[Y:.*]] = tensor.collapse_shape %[[X]]
// CHECK: tensor.expand_shape %[[Y]] {{.*}} output_shape [2, 4]
// CHECK: linalg.generic
// CHECK: arith.mulf
module @arguments attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>, %w: tensor<4xf32>):
    %c = onnx.initializer "c" dense<2.0> : tensor<f32> : tensor<f32>
    %shape = "onnx.Shape"(%x) {onnx.results = ["shape"]} : (tensor<?x4xf32>) -> tensor<2xi64>
    %flat = onnx.initializer "flat" dense<[-1]> : tensor<1xi64> : tensor<1xi64>
    %y = "onnx.Reshape"(%x, %flat) {onnx.results = ["y"]} : (tensor<?x4xf32>, tensor<1xi64>) -> tensor<?xf32>
    %z = "onnx.Reshape"(%y, %shape) {onnx.results = ["z"]} : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x4xf32>
    %w_new = "onnx.Mul"(%w, %c) {onnx.results = ["w_new"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    onnx.yield %z, %w_new : tensor<?x4xf32>, tensor<4xf32> {onnx.inputs = [{name = "x", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "N"}, {dim_value = 4 : i64}]}}}}, {name = "w"}], onnx.outputs = [{name = "z"}, {name = "w_new"}]}
  }
}
