// RUN: mp-opt %s --split-input-file --mp-inline-training | FileCheck %s

// The algorithms follow the model's nodes: their inputs are its own, what is
// bound is an input with a default and an update, in its entry's group. Values
// get the types that the model knows. What is not bound, the loss, is an
// output; so are the updates.
// CHECK-LABEL: module @entries
// CHECK: ^bb0(%x: tensor<2x4xf32>, %t: tensor<4xf32>, %w: tensor<4xf32>, %v: tensor<4xf32>, %c: tensor<4xf32>):
// CHECK: onnx.initializer "w" dense<1.000000e+00> : tensor<4xf32> overridable
// CHECK: %y = "onnx.Mul"(%x, %w)
// CHECK: onnx.initializer "v" dense<0.000000e+00> : tensor<4xf32> overridable
// CHECK: %e = "onnx.Sub"(%y, %t) {{.*}} -> tensor<2x4xf32>
// CHECK: %loss = "onnx.ReduceMean"(%e) {{.*}} -> tensor<f32>
// The algorithm's value gives way where its name is that of an update.
// CHECK: %[[NEXT:w_next]] = "onnx.Add"(%w, %loss) {onnx.results = ["w_next"]}
// CHECK: %[[MOVED:.*]] = "onnx.Add"(%v, %loss) {onnx.results = ["moved"]}
// CHECK: %[[W:.*]] = mp.update %w to %[[NEXT]] {group = 0 : i64, onnx.results = ["w_new"]} : tensor<4xf32>
// CHECK: %[[V:.*]] = mp.update %v to %[[MOVED]] {group = 0 : i64, onnx.results = ["v_new"]} : tensor<4xf32>
// CHECK: onnx.initializer "c" dense<0.000000e+00> : tensor<4xf32> overridable
// CHECK: "onnx.Add"(%c, %w)
// CHECK: %[[C:.*]] = mp.update %c to %{{.*}} {group = 1 : i64, onnx.results = ["c_new"]} : tensor<4xf32>
// CHECK: onnx.yield %y, %[[W]], %[[V]], %loss, %[[C]] :
// CHECK-NOT: onnx.training
module @entries attributes {onnx.opset_import = [["", 18], ["ai.onnx.preview.training", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    onnx.yield %0 : tensor<2x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
  onnx.training initialization {
  } algorithm {
  ^bb0(%t: tensor<4xf32>, %x: tensor<2x4xf32>):
    %y = onnx.outer "y" : !onnx.unknown
    %w = onnx.outer "w" : !onnx.unknown
    %v = onnx.initializer "v" dense<0.0> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Sub"(%y, %t) {onnx.results = ["e"]} : (!onnx.unknown, tensor<4xf32>) -> !onnx.unknown
    %1 = "onnx.ReduceMean"(%0) {keepdims = 0 : i64, onnx.results = ["loss"]} : (!onnx.unknown) -> !onnx.unknown
    %2 = "onnx.Add"(%w, %1) {onnx.results = ["w_new"]} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
    %3 = "onnx.Add"(%v, %1) {onnx.results = ["moved"]} : (tensor<4xf32>, !onnx.unknown) -> !onnx.unknown
    onnx.yield %1, %2, %3 : !onnx.unknown, !onnx.unknown, !onnx.unknown {onnx.inputs = [{name = "t"}, {name = "x"}], onnx.outputs = [{name = "loss"}, {name = "w_new"}, {name = "moved"}]}
  } attributes {onnx.extra = {update_binding = [{key = "w", value = "w_new"}, {key = "v", value = "moved"}]}}
  onnx.training initialization {
  } algorithm {
    %w = onnx.outer "w" : !onnx.unknown
    %c = onnx.initializer "c" dense<0.0> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Add"(%c, %w) {onnx.results = ["c_next"]} : (tensor<4xf32>, !onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown {onnx.inputs = [], onnx.outputs = [{name = "c_next"}]}
  } attributes {onnx.extra = {update_binding = [{key = "c", value = "c_next"}]}}
}
