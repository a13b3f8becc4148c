// RUN: mp-opt %s --split-input-file --mp-expand-loss-scaling | FileCheck %s

// CHECK-NOT: mp.{{[a-z_]* %}}

// The scale is a factor, and a divisor in fp32; outputs keep their names.
// CHECK-LABEL: module @step
// CHECK: %[[ONE:.*]] = "onnx.Constant"() {{.*}}dense<1.000000e+00> : tensor<f32>
// CHECK: %[[SCALED:.*]] = "onnx.Mul"(%[[ONE]], %scale)
// CHECK: %dw = "onnx.Mul"(%w, %[[SCALED]])
// CHECK: %[[UNSCALED:.*]] = "onnx.Div"(%dw, %scale)
// An output whose value is one already gets a node of its own.
// CHECK: %w_grad = "onnx.Identity"(%[[UNSCALED]]) {{.*}}onnx.results = ["w_grad"]
// Whatever occurs twice is tested once; zero times infinity is no number.
// CHECK: %[[FIRST:.*]] = "onnx.Mul"(%dw, %[[ZERO:.*]]) {
// CHECK: %[[FIRSTSUM:.*]] = "onnx.ReduceSum"(%[[FIRST]]
// CHECK: %[[SECOND:.*]] = "onnx.Mul"(%[[UNSCALED]], %[[ZERO]]) {
// CHECK: %[[SECONDSUM:.*]] = "onnx.ReduceSum"(%[[SECOND]]
// CHECK: %[[SUM:.*]] = "onnx.Sum"(%[[FIRSTSUM]], %[[SECONDSUM]])
// CHECK: %[[NAN:.*]] = "onnx.IsNaN"(%[[SUM]])
// CHECK: %[[FINITE:.*]] = "onnx.Not"(%[[NAN]])
// CHECK: %w_new = "onnx.Where"(%[[FINITE]], %w_grad, %w) {{.*}}onnx.results = ["w_new"]
// CHECK: onnx.yield %w_new, %w_grad, %[[UNSCALED]]
module @step attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %l: tensor<f32>, %scale: tensor<f32>):
    %0 = mp.loss_seed %l {onnx.results = ["seed"]} : tensor<f32>
    %1 = mp.scale_loss %0 by %scale {onnx.results = ["seed_scaled"]} : tensor<f32>
    %2 = "onnx.Mul"(%w, %1) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = mp.unscale %2 by %scale {onnx.results = ["dw_unscaled"]} : tensor<4xf32>
    %4 = mp.gradient %3 of %w {onnx.results = ["w_grad"]} : tensor<4xf32>, tensor<4xf32>
    %5 = mp.all_finite %2, %3, %2 {onnx.results = ["finite"]} : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    %6 = mp.update %w to %4 if %5 {onnx.results = ["w_new"]} : tensor<4xf32>
    onnx.yield %6, %4, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "w"}, {name = "l"}, {name = "scale"}], onnx.outputs = [{name = "w_new"}, {name = "w_grad"}, {name = "dw_unscaled"}]}
  }
}

// -----

// Without a condition an update is its value; nothing to test is finite. A
// seed has its loss's shape and type.
// CHECK-LABEL: module @plain
// CHECK: %[[ONE:.*]] = "onnx.Constant"() {{.*}}dense<1.000000e+00> : tensor<f64>
// CHECK: %[[SEED:.*]] = "onnx.Reshape"(%[[ONE]], %{{.*}}) {{.*}} -> tensor<1x1xf64>
// CHECK: %s_new = "onnx.Neg"(%s) {{.*}}onnx.results = ["s_new"]
// CHECK: onnx.yield %{{.*}}, %s_new, %{{.*}} : tensor<1x1xf64>, tensor<i64>, tensor<i1>
module @plain attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%s: tensor<i64>, %l: tensor<1x1xf64>):
    %0 = mp.loss_seed %l {onnx.results = ["seed"]} : tensor<1x1xf64>
    %1 = "onnx.Neg"(%s) {onnx.results = ["n"]} : (tensor<i64>) -> tensor<i64>
    %2 = mp.update %s to %1 always {onnx.results = ["s_new"]} : tensor<i64>
    %3 = mp.all_finite {onnx.results = ["finite"]}
    onnx.yield %0, %2, %3 : tensor<1x1xf64>, tensor<i64>, tensor<i1> {onnx.inputs = [{name = "s"}, {name = "l"}], onnx.outputs = [{name = "seed"}, {name = "s_new"}, {name = "finite"}]}
  }
}

// -----

// The scale's update is arithmetic on scalars.
// CHECK-LABEL: module @update_scale
// CHECK: %[[CLEAN:.*]] = "onnx.Add"(%clean,
// CHECK: %[[LESS:.*]] = "onnx.Less"(%[[CLEAN]],
// CHECK: %[[GROWS:.*]] = "onnx.Not"(%[[LESS]])
// CHECK: %[[GROWN:.*]] = "onnx.Mul"(%scale,
// CHECK: %[[AFTER:.*]] = "onnx.Where"(%[[GROWS]], %[[GROWN]], %scale)
// CHECK: "onnx.Sub"(%tolerance,
// CHECK: %[[REDUCED:.*]] = "onnx.Mul"(%scale,
// CHECK: %[[SKIPPED:.*]] = "onnx.Where"(%{{.*}}, %[[REDUCED]], %scale)
// CHECK: %[[NEXT:.*]] = "onnx.Where"(%finite, %[[AFTER]], %[[SKIPPED]])
// CHECK: %[[CAPPED:.*]] = "onnx.Min"(%[[NEXT]],
// CHECK: %scale_new = "onnx.Max"(%[[CAPPED]],
// CHECK: "onnx.Where"(%finite, %skipped,
module @update_scale attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%scale: tensor<f32>, %clean: tensor<i32>, %tolerance: tensor<i32>, %skipped: tensor<i64>, %finite: tensor<i1>):
    %0:4 = mp.update_scale %scale, %clean, %tolerance, %skipped after %finite {growth_factor = 2.0 : f64, backoff_factor = 0.5 : f64, growth_interval = 10 : i64, hysteresis = 2 : i64, floor = 1.0 : f64, cap = 1024.0 : f64} : (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i64>, tensor<i1>) -> (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i64>)
    %1 = mp.update %scale to %0#0 always {onnx.results = ["scale_new"]} : tensor<f32>
    %2 = mp.update %clean to %0#1 always {onnx.results = ["clean_new"]} : tensor<i32>
    %3 = mp.update %tolerance to %0#2 always {onnx.results = ["tolerance_new"]} : tensor<i32>
    %4 = mp.update %skipped to %0#3 always {onnx.results = ["skipped_new"]} : tensor<i64>
    onnx.yield %1, %2, %3, %4 : tensor<f32>, tensor<i32>, tensor<i32>, tensor<i64> {onnx.inputs = [{name = "scale"}, {name = "clean"}, {name = "tolerance"}, {name = "skipped"}, {name = "finite"}], onnx.outputs = [{name = "scale_new"}, {name = "clean_new"}, {name = "tolerance_new"}, {name = "skipped_new"}]}
  }
}

// -----

// Other models keep the marks of passes, too.
// CHECK-LABEL: module @forward
// CHECK: "onnx.Relu"(%x) {mp.class = #mp.class<allow, reason = "r">
module @forward attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %0 = "onnx.Relu"(%x) {mp.class = #mp.class<allow, reason = "r">, onnx.results = ["y"]} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
