// RUN: mp-opt %s --split-input-file --mp-select-parameters \
// RUN:   --mp-differentiate | FileCheck %s

// Running statistics are no parameters, but states that training changes. What
// mp-add-loss has marked is the loss.
// CHECK-LABEL: module @training
// CHECK: ^bb0(%x: tensor<2x4xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>):
// CHECK: %y, %mean, %var = "onnx.BatchNormalization"
// CHECK: mp.gradient %{{.*}} of %s
// CHECK: mp.gradient %{{.*}} of %b
// CHECK-NOT: mp.gradient
// CHECK: %[[M:.*]] = mp.update %m to %mean {onnx.results = ["m_new"]}
// CHECK: %[[V:.*]] = mp.update %v to %var {onnx.results = ["v_new"]}
// CHECK: onnx.yield %total, %[[M]], %[[V]]
module @training attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph attributes {mp.loss = "total"} {
  ^bb0(%x: tensor<2x4xf32>):
    %s = onnx.initializer "s" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %b = onnx.initializer "b" dense<0.0> : tensor<4xf32> : tensor<4xf32>
    %m = onnx.initializer "m" dense<0.5> : tensor<4xf32> : tensor<4xf32>
    %v = onnx.initializer "v" dense<0.25> : tensor<4xf32> : tensor<4xf32>
    %0:3 = "onnx.BatchNormalization"(%x, %s, %b, %m, %v) {training_mode = 1 : i64, onnx.results = ["y", "mean", "var"]} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %1 = "onnx.ReduceSum"(%0#0) {keepdims = 0 : i64, onnx.results = ["total"]} : (tensor<2x4xf32>) -> tensor<f32>
    onnx.yield %1 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "total"}]}
  }
}

// -----

// Without training they are constants.
// CHECK-LABEL: module @inference
// CHECK: ^bb0(%x: tensor<2x4xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>):
// CHECK: onnx.initializer "m" dense<5.000000e-01> : tensor<4xf32> : tensor<4xf32>
// CHECK-NOT: mp.update
// CHECK: onnx.yield %total :
module @inference attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph attributes {mp.loss = "total"} {
  ^bb0(%x: tensor<2x4xf32>):
    %s = onnx.initializer "s" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %b = onnx.initializer "b" dense<0.0> : tensor<4xf32> : tensor<4xf32>
    %m = onnx.initializer "m" dense<0.5> : tensor<4xf32> : tensor<4xf32>
    %v = onnx.initializer "v" dense<0.25> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.BatchNormalization"(%x, %s, %b, %m, %v) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %1 = "onnx.ReduceSum"(%0) {keepdims = 0 : i64, onnx.results = ["total"]} : (tensor<2x4xf32>) -> tensor<f32>
    onnx.yield %1 : tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "total"}]}
  }
}
