// RUN: mp-opt %s --split-input-file --mp-inject-loss-scaling=loss-scale=dynamic \
// RUN:   | FileCheck %s --check-prefixes=CHECK,DYNAMIC
// RUN: mp-opt %s --split-input-file --mp-inject-loss-scaling=loss-scale=1024 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,STATIC
// RUN: mp-opt %s --split-input-file --mp-inject-loss-scaling=loss-scale=none \
// RUN:   | FileCheck %s --check-prefix=NONE
// RUN: mp-opt %s --split-input-file \
// RUN:   --mp-inject-loss-scaling=loss-scale=dynamic:init=8,growth-factor=4,backoff-factor=0.25,growth-interval=10,hysteresis=3,floor=2,cap=16 \
// RUN:   | FileCheck %s --check-prefix=SETTINGS

// NONE-NOT: mp.scale_loss
// NONE-NOT: mp.unscale
// NONE-NOT: mp.all_finite
// NONE-NOT: loss_scale

// The seed is scaled, every gradient unscaled where it leaves; one test of all
// of them, scaled and unscaled, stands before every update.
// CHECK-LABEL: module @step
// DYNAMIC: ^bb0(%w: tensor<4xf32>, %b: tensor<4xf32>, %l: tensor<f32>, %loss_scale: tensor<f32>, %loss_scale.clean_steps: tensor<i32>, %loss_scale.tolerance: tensor<i32>, %loss_scale.skipped_steps: tensor<i64>):
// STATIC: ^bb0(%w: tensor<4xf32>, %b: tensor<4xf32>, %l: tensor<f32>, %loss_scale.skipped_steps: tensor<i64>):
// STATIC-DAG: onnx.initializer "loss_scale.skipped_steps" dense<0> : tensor<i64> overridable
// DYNAMIC-DAG: onnx.initializer "loss_scale" dense<6.553600e+04> : tensor<f32> overridable
// DYNAMIC-DAG: onnx.initializer "loss_scale.clean_steps" dense<0> : tensor<i32> overridable
// DYNAMIC-DAG: onnx.initializer "loss_scale.tolerance" dense<1> : tensor<i32> overridable
// DYNAMIC-DAG: onnx.initializer "loss_scale.skipped_steps" dense<0> : tensor<i64> overridable
// STATIC-DAG: %loss_scale = "onnx.Constant"() {{.*}}dense<1.024000e+03> : tensor<f32>
// CHECK: %[[SEED:.*]] = mp.loss_seed %l
// CHECK: %[[SCALED:.*]] = mp.scale_loss %[[SEED]] by %loss_scale {onnx.results = ["seed_scaled"]} : tensor<f32>
// CHECK: %dw = "onnx.Mul"(%w, %[[SCALED]])
// CHECK: %db = "onnx.Mul"(%b, %[[SCALED]])
// CHECK: %[[DW:.*]] = mp.unscale %dw by %loss_scale {onnx.results = ["dw_unscaled"]} : tensor<4xf32>
// CHECK: %[[GW:.*]] = mp.gradient %[[DW]] of %w
// CHECK: %[[DB:.*]] = mp.unscale %db by %loss_scale
// CHECK: %[[GB:.*]] = mp.gradient %[[DB]] of %b
// CHECK: %[[FINITE:.*]] = mp.all_finite %dw, %[[DW]], %db, %[[DB]] {onnx.results = ["gradients_finite"]}
// CHECK: %[[W:.*]] = mp.update %w to %{{.*}} if %[[FINITE]] {{.*}}"w_new"
// CHECK: %[[B:.*]] = mp.update %b to %{{.*}} if %[[FINITE]] {{.*}}"b_new"

// A constant scale stays; what is skipped counts.
// STATIC: %[[MORE:.*]] = "onnx.Add"(%loss_scale.skipped_steps,
// STATIC: %[[COUNT:.*]] = "onnx.Where"(%[[FINITE]], %loss_scale.skipped_steps, %[[MORE]])
// STATIC: %[[K:.*]] = mp.update %loss_scale.skipped_steps to %[[COUNT]] always
// STATIC: onnx.yield %l, %[[W]], %[[B]], %[[K]] :

// Where the loss itself is not finite, no scale would help.
// DYNAMIC: %[[LOSS:.*]] = mp.all_finite %l {onnx.results = ["loss_finite"]} : tensor<f32>
// DYNAMIC: mp.update_scale %loss_scale, %loss_scale.clean_steps, %loss_scale.tolerance, %loss_scale.skipped_steps after %[[FINITE]]
// DYNAMIC-SAME: backoff_factor = 5.000000e-01 : f64, cap = 0x4170000000000000 : f64, floor = 1.000000e+00 : f64, growth_factor = 2.000000e+00 : f64, growth_interval = 2000 : i64, hysteresis = 1 : i64
// DYNAMIC: %[[S:.*]] = mp.update %loss_scale to %new_scale if %[[LOSS]] always {onnx.results = ["loss_scale_new"]}
// DYNAMIC: %[[C:.*]] = mp.update %loss_scale.clean_steps to %new_clean always
// DYNAMIC: %[[T:.*]] = mp.update %loss_scale.tolerance to %new_tolerance if %[[LOSS]] always
// DYNAMIC: %[[K:.*]] = mp.update %loss_scale.skipped_steps to %new_skipped always
// DYNAMIC: onnx.yield %l, %[[W]], %[[B]], %[[S]], %[[C]], %[[T]], %[[K]] :
// SETTINGS-LABEL: module @step
// SETTINGS-DAG: onnx.initializer "loss_scale" dense<8.000000e+00>
// SETTINGS-DAG: onnx.initializer "loss_scale.tolerance" dense<3>
// SETTINGS: mp.update_scale
// SETTINGS-SAME: backoff_factor = 2.500000e-01 : f64, cap = 1.600000e+01 : f64, floor = 2.000000e+00 : f64, growth_factor = 4.000000e+00 : f64, growth_interval = 10 : i64, hysteresis = 3 : i64
module @step attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %b: tensor<4xf32>, %l: tensor<f32>):
    %0 = mp.loss_seed %l {onnx.results = ["seed"]} : tensor<f32>
    %1 = "onnx.Mul"(%w, %0) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = "onnx.Mul"(%b, %0) {onnx.results = ["db"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = mp.gradient %1 of %w {onnx.results = ["w_grad"]} : tensor<4xf32>, tensor<4xf32>
    %4 = "onnx.Sub"(%w, %3) {onnx.results = ["wn"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %5 = mp.update %w to %4 {onnx.results = ["w_new"]} : tensor<4xf32>
    %6 = mp.gradient %2 of %b {onnx.results = ["b_grad"]} : tensor<4xf32>, tensor<4xf32>
    %7 = "onnx.Sub"(%b, %6) {onnx.results = ["bn"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %8 = mp.update %b to %7 {onnx.results = ["b_new"]} : tensor<4xf32>
    onnx.yield %l, %5, %8 : tensor<f32>, tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "w"}, {name = "b"}, {name = "l"}], onnx.outputs = [{name = "l"}, {name = "w_new"}, {name = "b_new"}]}
  }
}

// -----

// Two losses: both seeds are scaled. Each optimizer is skipped for its own
// gradients; the scale falls for any of them.
// CHECK-LABEL: module @groups
// CHECK: mp.scale_loss
// CHECK: mp.scale_loss
// CHECK: %[[FIRST:.*]] = mp.all_finite %dw, %{{.*}} {
// CHECK: %[[SECOND:.*]] = mp.all_finite %db, %{{.*}} {
// DYNAMIC: %[[BOTH:.*]] = "onnx.And"(%[[FIRST]], %[[SECOND]])
// CHECK: mp.update %w to %{{.*}} if %[[FIRST]] {group = 0 : i64
// CHECK: mp.update %b to %{{.*}} if %[[SECOND]] {group = 1 : i64
// DYNAMIC: mp.all_finite %l, %k {
// DYNAMIC: mp.update_scale {{.*}} after %[[BOTH]]
module @groups attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %b: tensor<4xf32>, %l: tensor<f32>, %k: tensor<f32>):
    %0 = mp.loss_seed %l {onnx.results = ["seed"]} : tensor<f32>
    %1 = "onnx.Mul"(%w, %0) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = mp.gradient %1 of %w {onnx.results = ["w_grad"]} : tensor<4xf32>, tensor<4xf32>
    %3 = mp.loss_seed %k {onnx.results = ["seed2"]} : tensor<f32>
    %4 = "onnx.Mul"(%b, %3) {onnx.results = ["db"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %5 = mp.gradient %4 of %b {onnx.results = ["b_grad"]} : tensor<4xf32>, tensor<4xf32>
    %6 = mp.update %w to %2 {group = 0 : i64, onnx.results = ["w_new"]} : tensor<4xf32>
    %7 = mp.update %b to %5 {group = 1 : i64, onnx.results = ["b_new"]} : tensor<4xf32>
    onnx.yield %6, %7 : tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "w"}, {name = "b"}, {name = "l"}, {name = "k"}], onnx.outputs = [{name = "w_new"}, {name = "b_new"}]}
  }
}

// -----

// With accumulation the sums are tested too. Their updates are made in every
// step, others, and the scale's, where one is due. The sum of a window's losses
// tells whether one of them was not finite.
// CHECK-LABEL: module @accumulation
// CHECK: %[[SUMS:.*]] = mp.update %sums to %{{.*}} always {
// CHECK: %[[FINITE:.*]] = mp.all_finite %dw, %{{.*}}, %sums {
// CHECK: %[[DUE:.*]] = "onnx.And"(%due, %[[FINITE]])
// CHECK: mp.update %w to %{{.*}} if %[[DUE]] {
// DYNAMIC: %[[LOSSES:.*]] = "onnx.Add"(%loss_scale.loss.accumulated, %l)
// DYNAMIC: %[[NEXT:.*]] = "onnx.Where"(%due, %{{.*}}, %[[LOSSES]])
// DYNAMIC: mp.update %loss_scale.loss.accumulated to %[[NEXT]] always
// DYNAMIC: %[[LOSS:.*]] = mp.all_finite %l, %loss_scale.loss.accumulated {
// DYNAMIC: mp.update_scale
// DYNAMIC: %[[CHANGES:.*]] = "onnx.And"(%due, %[[LOSS]])
// DYNAMIC: mp.update %loss_scale to %new_scale if %[[CHANGES]] always
// DYNAMIC: mp.update %loss_scale.clean_steps to %new_clean if %due always
// STATIC: mp.update %loss_scale.skipped_steps to %{{.*}} if %due always
module @accumulation attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %l: tensor<f32>, %sums: tensor<4xf32>, %due: tensor<i1>):
    %0 = mp.loss_seed %l {onnx.results = ["seed"]} : tensor<f32>
    %1 = "onnx.Mul"(%w, %0) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = mp.gradient %1 of %w {onnx.results = ["w_grad"]} : tensor<4xf32>, tensor<4xf32>
    %3 = "onnx.Add"(%sums, %2) {onnx.results = ["sum"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = mp.update %sums to %3 always {onnx.results = ["sums_new"]} : tensor<4xf32>
    %5 = mp.update %w to %3 if %due {onnx.results = ["w_new"]} : tensor<4xf32>
    onnx.yield %4, %5 : tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "w"}, {name = "l"}, {name = "sums"}, {name = "due"}], onnx.outputs = [{name = "sums_new"}, {name = "w_new"}]}
  }
}

// -----

// Gradients that are outputs are unscaled; there is no step to skip, and
// nothing that a changing scale could learn from.
// CHECK-LABEL: module @gradients
// CHECK: mp.unscale %dw by %loss_scale
// CHECK-NOT: mp.update
// CHECK: onnx.yield
module @gradients attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %l: tensor<f32>):
    %0 = mp.loss_seed %l {onnx.results = ["seed"]} : tensor<f32>
    %1 = "onnx.Mul"(%w, %0) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = mp.gradient %1 of %w {onnx.results = ["w_grad"]} : tensor<4xf32>, tensor<4xf32>
    onnx.yield %2 : tensor<4xf32> {onnx.inputs = [{name = "w"}, {name = "l"}], onnx.outputs = [{name = "w_grad"}]}
  }
}

// -----

// A graph that does not train stays as it is.
// CHECK-LABEL: module @forward
// CHECK-NOT: loss_scale
// CHECK: onnx.yield %y
module @forward attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["y"]} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
