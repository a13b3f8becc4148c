// RUN: mp-opt %s | mp-opt - | FileCheck %s
// RUN: mp-opt %s --mlir-print-op-generic | mp-opt - | FileCheck %s
// RUN: mp-opt %s --emit=bytecode | mp-opt - | FileCheck %s

// The step in the dialect's description.
// CHECK-LABEL: module @step
// CHECK: %[[SEED:.*]] = mp.loss_seed %loss : tensor<f32>
// CHECK: %[[SCALED:.*]] = mp.scale_loss %[[SEED]] by %scale : tensor<f32>
// CHECK: %[[D:.*]] = "onnx.Mul"(%w, %[[SCALED]])
// CHECK: %[[UNSCALED:.*]] = mp.unscale %[[D]] by %scale : tensor<8xf32>
// CHECK: %[[FINITE:.*]] = mp.all_finite %[[D]], %[[UNSCALED]] : tensor<8xf32>, tensor<8xf32>
// CHECK: %[[G:.*]] = mp.gradient %[[UNSCALED]] of %w : tensor<8xf32>, tensor<8xf32>
// CHECK: %[[NEW:.*]] = "onnx.Sub"(%w, %[[G]])
// CHECK: %{{.*}} = mp.update %w to %[[NEW]] if %[[FINITE]] : tensor<8xf32>
module @step {
  onnx.graph {
  ^bb0(%w: tensor<8xf32>, %loss: tensor<f32>, %scale: tensor<f32>):
    %seed = mp.loss_seed %loss : tensor<f32>
    %scaled_seed = mp.scale_loss %seed by %scale : tensor<f32>
    %d = "onnx.Mul"(%w, %scaled_seed) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %unscaled = mp.unscale %d by %scale : tensor<8xf32>
    %finite = mp.all_finite %d, %unscaled : tensor<8xf32>, tensor<8xf32>
    %g = mp.gradient %unscaled of %w : tensor<8xf32>, tensor<8xf32>
    %w_new = "onnx.Sub"(%w, %g) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %w_next = mp.update %w to %w_new if %finite : tensor<8xf32>
    onnx.yield %w_next : tensor<8xf32> {onnx.inputs = [{name = "w"}, {name = "loss"}, {name = "scale"}], onnx.outputs = [{name = "w_next"}]}
  }
}

// Every optional part of every op, with names as the passes give them.
// CHECK-LABEL: module @forms
module @forms {
  onnx.graph {
  ^bb0(%loss: tensor<1x1xf64>, %scale: tensor<f32>, %clean: tensor<i32>, %skipped: tensor<i64>, %w: tensor<?x4xf64>, %s: !onnx.seq<tensor<2xf32>>, %c: tensor<i1>):
    // CHECK: %[[SEED:.*]] = mp.loss_seed %loss {onnx.results = ["loss_grad"]} : tensor<1x1xf64>
    %seed = mp.loss_seed %loss {onnx.results = ["loss_grad"]} : tensor<1x1xf64>
    // CHECK: mp.scale_loss %[[SEED]] by %scale {onnx.results = ["scaled"]} : tensor<1x1xf64>
    %scaled = mp.scale_loss %seed by %scale {onnx.results = ["scaled"]} : tensor<1x1xf64>
    // CHECK: %[[UNSCALED:.*]] = mp.unscale %w by %scale {onnx.results = ["unscaled"]} : tensor<?x4xf64>
    %unscaled = mp.unscale %w by %scale {onnx.results = ["unscaled"]} : tensor<?x4xf64>
    // A gradient of a sequence of parameters is a tensor all the same.
    // CHECK: %[[G:.*]] = mp.gradient %[[UNSCALED]] of %s {onnx.results = ["g"]} : tensor<?x4xf64>, !onnx.seq<tensor<2xf32>>
    %g = mp.gradient %unscaled of %s {onnx.results = ["g"]} : tensor<?x4xf64>, !onnx.seq<tensor<2xf32>>
    // CHECK: mp.all_finite {onnx.results = ["true"]}
    %none = mp.all_finite {onnx.results = ["true"]}
    // CHECK: %[[SOME:.*]] = mp.all_finite %[[G]], %scale {onnx.results = ["some"]} : tensor<?x4xf64>, tensor<f32>
    %some = mp.all_finite %g, %scale {onnx.results = ["some"]} : tensor<?x4xf64>, tensor<f32>
    // CHECK: mp.update_scale %scale, %clean, %clean, %skipped after %[[SOME]]
    // CHECK-SAME: backoff_factor = 5.000000e-01 : f64, cap = 1.024000e+03 : f64, floor = 1.000000e+00 : f64, growth_factor = 2.000000e+00 : f64, growth_interval = 10 : i64, hysteresis = 2 : i64
    // CHECK-SAME: : (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i64>, tensor<i1>) -> (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i64>)
    %0:4 = mp.update_scale %scale, %clean, %clean, %skipped after %some {growth_factor = 2.0 : f64, backoff_factor = 0.5 : f64, growth_interval = 10 : i64, hysteresis = 2 : i64, floor = 1.0 : f64, cap = 1024.0 : f64} : (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i64>, tensor<i1>) -> (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i64>)
    // CHECK: mp.update %w to %[[G]] {group = 1 : i64} : tensor<?x4xf64>
    %1 = mp.update %w to %g {group = 1 : i64} : tensor<?x4xf64>
    // CHECK: mp.update %clean to %{{.*}} always : tensor<i32>
    %2 = mp.update %clean to %0#1 always : tensor<i32>
    // CHECK: mp.update %s to %s if %c always {onnx.results = ["s_new"]} : !onnx.seq<tensor<2xf32>>
    %3 = mp.update %s to %s if %c always {onnx.results = ["s_new"]} : !onnx.seq<tensor<2xf32>>
    onnx.yield %scaled, %1, %2, %3, %none : tensor<1x1xf64>, tensor<?x4xf64>, tensor<i32>, !onnx.seq<tensor<2xf32>>, tensor<i1> {onnx.inputs = [{name = "loss"}, {name = "scale"}, {name = "clean"}, {name = "skipped"}, {name = "w"}, {name = "s"}, {name = "c"}], onnx.outputs = []}
  }
}
