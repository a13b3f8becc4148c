// RUN: mp-opt %s --split-input-file --mp-inject-loss-scaling=loss-scale=dynamic \
// RUN:   | FileCheck %s --check-prefixes=CHECK,DYNAMIC
// RUN: mp-opt %s --split-input-file --mp-inject-loss-scaling=loss-scale=1024 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,STATIC

// Gradients are what goes into accumulators; the seed is the constant that all
// of them are multiples of. The optimizer is another model: a window of steps
// ends where the next one starts, and the scale changes there.
// CHECK-LABEL: module @window
// DYNAMIC: ^bb0(%w: tensor<4xf32>, %b: tensor<4xf32>, %wb: tensor<4xf32>, %bb: tensor<4xf32>, %lazy: tensor<1xi1>, %loss_scale: tensor<f32>, %loss_scale.clean_steps: tensor<i32>, %loss_scale.tolerance: tensor<i32>, %loss_scale.skipped_steps: tensor<i64>, %loss_scale.window_finite: tensor<i1>, %loss_scale.window_steps: tensor<i64>):
// DYNAMIC: %[[STARTS:.*]] = "onnx.Reshape"(%lazy,
// DYNAMIC: %[[HAD:.*]] = "onnx.Greater"(%loss_scale.window_steps,
// DYNAMIC: %[[COUNTS:.*]] = "onnx.And"(%[[STARTS]], %[[HAD]])
// DYNAMIC: mp.update_scale %loss_scale, {{.*}} after %loss_scale.window_finite
// DYNAMIC: %[[SCALE:.*]] = "onnx.Where"(%[[COUNTS]], %new_scale, %loss_scale)
// STATIC: %[[SCALE:loss_scale]] = "onnx.Constant"() {{.*}}dense<1.024000e+03>
// CHECK: mp.scale_loss %{{.*}} by %[[SCALE]] {onnx.results = ["loss_grad_scaled"]}
// CHECK: %dw = "onnx.Mul"(%w,
// CHECK: %[[DW:.*]] = mp.unscale %dw by %[[SCALE]]
// CHECK: %[[GW:.*]] = mp.gradient %[[DW]] of %wb {onnx.results = ["dw_out"]}
// CHECK: "onnx.com.microsoft.InPlaceAccumulatorV2"(%wb, %[[GW]], %lazy)
// CHECK: %[[GB:.*]] = mp.gradient %{{.*}} of %bb
// CHECK: "onnx.com.microsoft.InPlaceAccumulatorV2"(%bb, %[[GB]], %lazy)
// STATIC: onnx.yield %{{[^,]*}}, %{{[^,]*}} :
// DYNAMIC-DAG: mp.update %loss_scale to %[[SCALE]] always
// DYNAMIC-DAG: %[[FINITE:.*]] = mp.all_finite %dw, %[[DW]], %db
// DYNAMIC-DAG: %[[SOFAR:.*]] = "onnx.Or"(%{{.*}}, %loss_scale.window_finite)
// DYNAMIC-DAG: %[[WINDOW:.*]] = "onnx.And"(%[[SOFAR]], %[[FINITE]])
// DYNAMIC-DAG: mp.update %loss_scale.window_finite to %[[WINDOW]] always
// DYNAMIC-DAG: mp.update %loss_scale.window_steps to %{{.*}} always
module @window attributes {onnx.opset_import = [["", 15], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %b: tensor<4xf32>, %wb: tensor<4xf32>, %bb: tensor<4xf32>, %lazy: tensor<1xi1>):
    %seed = onnx.initializer "loss_grad" dense<1.0> : tensor<f32> : tensor<f32>
    %0 = "onnx.Neg"(%seed) {onnx.results = ["d"]} : (tensor<f32>) -> tensor<f32>
    %1 = "onnx.Mul"(%w, %0) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = "onnx.Mul"(%b, %0) {onnx.results = ["db"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = "onnx.com.microsoft.InPlaceAccumulatorV2"(%wb, %1, %lazy) {onnx.results = ["w_out"]} : (tensor<4xf32>, tensor<4xf32>, tensor<1xi1>) -> tensor<1xi1>
    %4 = "onnx.com.microsoft.InPlaceAccumulatorV2"(%bb, %2, %lazy) {onnx.results = ["b_out"]} : (tensor<4xf32>, tensor<4xf32>, tensor<1xi1>) -> tensor<1xi1>
    onnx.yield %3, %4 : tensor<1xi1>, tensor<1xi1> {onnx.inputs = [{name = "w"}, {name = "b"}, {name = "wb"}, {name = "bb"}, {name = "lazy"}], onnx.outputs = [{name = "w_out"}, {name = "b_out"}]}
  }
}

// -----

// A factor on the way comes behind the seed; of two that are multiplied with
// each other either one would do.
// CHECK-LABEL: module @factors
// CHECK: mp.scale_loss %loss_grad by
// CHECK-NOT: mp.scale_loss
module @factors attributes {onnx.opset_import = [["", 15], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %wb: tensor<4xf32>, %lazy: tensor<1xi1>):
    %third = onnx.initializer "third" dense<0.3> : tensor<f32> : tensor<f32>
    %seed = onnx.initializer "loss_grad" dense<1.0> : tensor<f32> : tensor<f32>
    %half = onnx.initializer "half" dense<0.5> : tensor<f32> : tensor<f32>
    %0 = "onnx.Mul"(%half, %seed) {onnx.results = ["h"]} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %1 = "onnx.Mul"(%third, %0) {onnx.results = ["t"]} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %2 = "onnx.Mul"(%w, %1) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = "onnx.com.microsoft.InPlaceAccumulatorV2"(%wb, %2, %lazy) {onnx.results = ["w_out"]} : (tensor<4xf32>, tensor<4xf32>, tensor<1xi1>) -> tensor<1xi1>
    onnx.yield %3 : tensor<1xi1> {onnx.inputs = [{name = "w"}, {name = "wb"}, {name = "lazy"}], onnx.outputs = [{name = "w_out"}]}
  }
}

// -----

// What the loss is computed from is no seed, though it is a factor of every
// gradient too.
// CHECK-LABEL: module @forward_factor
// CHECK: mp.scale_loss %loss_grad by
// CHECK-NOT: mp.scale_loss
module @forward_factor attributes {onnx.opset_import = [["", 15], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %wb: tensor<4xf32>, %lazy: tensor<1xi1>):
    %k = onnx.initializer "k" dense<3.0> : tensor<f32> : tensor<f32>
    %seed = onnx.initializer "loss_grad" dense<1.0> : tensor<f32> : tensor<f32>
    %0 = "onnx.Mul"(%w, %k) {onnx.results = ["y"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = "onnx.com.microsoft.ReluGrad"(%seed, %0) {onnx.results = ["r"]} : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.Mul"(%1, %k) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = "onnx.com.microsoft.InPlaceAccumulatorV2"(%wb, %2, %lazy) {onnx.results = ["w_out"]} : (tensor<4xf32>, tensor<4xf32>, tensor<1xi1>) -> tensor<1xi1>
    onnx.yield %0, %3 : tensor<4xf32>, tensor<1xi1> {onnx.inputs = [{name = "w"}, {name = "wb"}, {name = "lazy"}], onnx.outputs = [{name = "y"}, {name = "w_out"}]}
  }
}
