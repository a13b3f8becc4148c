// RUN: mp-opt %s --convert-onnx-to-linalg | FileCheck %s

// An input that is written over has its next value in a further output.
// CHECK: func.func @main(%[[OLD:[^:]*]]: tensor<4xf32> {{.*}} -> (tensor<1xi8> {mp.element = i1, mp.name = "done"}, tensor<4xf32> {mp.element = f32, mp.name = "buffer_new", mp.state = 0 : i64})
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[OLD]], %{{.*}} : tensor<4xf32>, tensor<4xf32>)
// CHECK: return %{{.*}}, %[[SUM]]
module attributes {onnx.opset_import = [["", 18], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%buffer: tensor<4xf32>, %gradient: tensor<4xf32>, %anew: tensor<1xi1>):
    %0 = "onnx.com.microsoft.InPlaceAccumulatorV2"(%buffer, %gradient, %anew) : (tensor<4xf32>, tensor<4xf32>, tensor<1xi1>) -> tensor<1xi1>
    onnx.yield %0 : tensor<1xi1> {onnx.inputs = [{name = "buffer"}, {name = "gradient"}, {name = "anew"}], onnx.outputs = [{name = "done"}]}
  }
}
