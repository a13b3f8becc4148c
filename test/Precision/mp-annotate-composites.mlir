// RUN: mp-opt %s --split-input-file --mp-annotate-composites | FileCheck %s

// As torch exports it.
// CHECK-LABEL: @layer_norm_torch
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"m"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"v"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"ve"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"n"]
// CHECK-NOT: mp.composite
module @layer_norm_torch attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %two = onnx.initializer "two" dense<2.000000e+00> : tensor<f32> : tensor<f32>
    %eps = onnx.initializer "eps" dense<9.99999974E-6> : tensor<f32> : tensor<f32>
    %w = onnx.initializer "w" dense<1.000000e+00> : tensor<8xf32> : tensor<8xf32>
    %b = onnx.initializer "b" dense<1.000000e+00> : tensor<8xf32> : tensor<8xf32>
    %m = "onnx.ReduceMean"(%x) {axes = array<i64: -1>, onnx.results = ["m"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %d = "onnx.Sub"(%x, %m) {onnx.results = ["d"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %p = "onnx.Pow"(%d, %two) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
    %v = "onnx.ReduceMean"(%p) {axes = array<i64: -1>, onnx.results = ["v"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %ve = "onnx.Add"(%v, %eps) {onnx.results = ["ve"]} : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xf32>
    %s = "onnx.Sqrt"(%ve) {onnx.results = ["s"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %n = "onnx.Div"(%d, %s) {onnx.results = ["n"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %g = "onnx.Mul"(%n, %w) {onnx.results = ["g"]} : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.Add"(%g, %b) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// Axes as an input, a self product, a reciprocal, operands swapped, casts.
// CHECK-LABEL: @layer_norm_axes_input
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"m"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"v"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"ve"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"r"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"n"]
// CHECK-NOT: mp.composite
module @layer_norm_axes_input attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %ax = onnx.initializer "ax" dense<2> : tensor<1xi64> : tensor<1xi64>
    %eps = onnx.initializer "eps" dense<9.99999974E-6> : tensor<f32> : tensor<f32>
    %w = onnx.initializer "w" dense<1.000000e+00> : tensor<8xf32> : tensor<8xf32>
    %b = onnx.initializer "b" dense<1.000000e+00> : tensor<8xf32> : tensor<8xf32>
    %c = "onnx.Cast"(%x) {onnx.results = ["c"], to = 1 : i64} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %m = "onnx.ReduceMean"(%c, %ax) {onnx.results = ["m"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %d = "onnx.Sub"(%c, %m) {onnx.results = ["d"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %p = "onnx.Mul"(%d, %d) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %v = "onnx.ReduceMean"(%p, %ax) {onnx.results = ["v"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %ve = "onnx.Add"(%eps, %v) {onnx.results = ["ve"]} : (tensor<f32>, tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %s = "onnx.Sqrt"(%ve) {onnx.results = ["s"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %r = "onnx.Reciprocal"(%s) {onnx.results = ["r"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %n = "onnx.Mul"(%r, %d) {onnx.results = ["n"]} : (tensor<2x4x1xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %e = "onnx.Cast"(%n) {onnx.results = ["e"], to = 1 : i64} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %g = "onnx.Mul"(%w, %e) {onnx.results = ["g"]} : (tensor<8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.Add"(%b, %g) {onnx.results = ["y"]} : (tensor<8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// As tf2onnx writes Keras' batch_normalization form: x * r + (b - m * r).
// CHECK-LABEL: @layer_norm_tf
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"m"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"mu"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"v"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"ve"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"r"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"rg"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"a"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"c"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"k"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"y"]
module @layer_norm_tf attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %ax = onnx.initializer "ax" dense<2> : tensor<1xi64> : tensor<1xi64>
    %eps = onnx.initializer "eps" dense<9.99999974E-6> : tensor<f32> : tensor<f32>
    %w = onnx.initializer "w" dense<1.000000e+00> : tensor<8xf32> : tensor<8xf32>
    %b = onnx.initializer "b" dense<1.000000e+00> : tensor<8xf32> : tensor<8xf32>
    %m = "onnx.ReduceMean"(%x) {axes = array<i64: 2>, keepdims = 0 : i64, onnx.results = ["m"]} : (tensor<2x4x8xf32>) -> tensor<2x4xf32>
    %mu = "onnx.Unsqueeze"(%m, %ax) {onnx.results = ["mu"]} : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %d = "onnx.Sub"(%x, %mu) {onnx.results = ["d"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %p = "onnx.Mul"(%d, %d) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %v = "onnx.ReduceMean"(%p) {axes = array<i64: 2>, onnx.results = ["v"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %ve = "onnx.Add"(%v, %eps) {onnx.results = ["ve"]} : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xf32>
    %s = "onnx.Sqrt"(%ve) {onnx.results = ["s"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %r = "onnx.Reciprocal"(%s) {onnx.results = ["r"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %rg = "onnx.Mul"(%r, %w) {onnx.results = ["rg"]} : (tensor<2x4x1xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
    %a = "onnx.Mul"(%x, %rg) {onnx.results = ["a"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %c = "onnx.Mul"(%mu, %rg) {onnx.results = ["c"]} : (tensor<2x4x1xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %k = "onnx.Sub"(%b, %c) {onnx.results = ["k"]} : (tensor<8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.Add"(%a, %k) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// E[x^2] - E[x]^2, and a power of 0.5.
// CHECK-LABEL: @layer_norm_mean_of_squares
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"m"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"q"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"mq"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"mm"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"v"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"ve"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"y"]
module @layer_norm_mean_of_squares attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %half = onnx.initializer "half" dense<5.000000e-01> : tensor<f32> : tensor<f32>
    %eps = onnx.initializer "eps" dense<9.99999974E-6> : tensor<f32> : tensor<f32>
    %m = "onnx.ReduceMean"(%x) {axes = array<i64: -1>, onnx.results = ["m"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %q = "onnx.Mul"(%x, %x) {onnx.results = ["q"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %mq = "onnx.ReduceMean"(%q) {axes = array<i64: -1>, onnx.results = ["mq"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %mm = "onnx.Mul"(%m, %m) {onnx.results = ["mm"]} : (tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %v = "onnx.Sub"(%mq, %mm) {onnx.results = ["v"]} : (tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %ve = "onnx.Add"(%v, %eps) {onnx.results = ["ve"]} : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xf32>
    %s = "onnx.Pow"(%ve, %half) {onnx.results = ["s"]} : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xf32>
    %d = "onnx.Sub"(%x, %m) {onnx.results = ["d"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.Div"(%d, %s) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// The mean of a pool.
// CHECK-LABEL: @instance_norm
// CHECK: mp.composite = #mp.composite<"InstanceNormalization", 0>, onnx.results = {{\[}}"m"]
// CHECK: mp.composite = #mp.composite<"InstanceNormalization", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"InstanceNormalization", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"InstanceNormalization", 0>, onnx.results = {{\[}}"v"]
// CHECK: mp.composite = #mp.composite<"InstanceNormalization", 0>, onnx.results = {{\[}}"ve"]
// CHECK: mp.composite = #mp.composite<"InstanceNormalization", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"InstanceNormalization", 0>, onnx.results = {{\[}}"y"]
module @instance_norm attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3x8x8xf32>):
    %eps = onnx.initializer "eps" dense<9.99999974E-6> : tensor<f32> : tensor<f32>
    %m = "onnx.GlobalAveragePool"(%x) {onnx.results = ["m"]} : (tensor<2x3x8x8xf32>) -> tensor<2x3x1x1xf32>
    %d = "onnx.Sub"(%x, %m) {onnx.results = ["d"]} : (tensor<2x3x8x8xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x8x8xf32>
    %p = "onnx.Mul"(%d, %d) {onnx.results = ["p"]} : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
    %v = "onnx.GlobalAveragePool"(%p) {onnx.results = ["v"]} : (tensor<2x3x8x8xf32>) -> tensor<2x3x1x1xf32>
    %ve = "onnx.Add"(%v, %eps) {onnx.results = ["ve"]} : (tensor<2x3x1x1xf32>, tensor<f32>) -> tensor<2x3x1x1xf32>
    %s = "onnx.Sqrt"(%ve) {onnx.results = ["s"]} : (tensor<2x3x1x1xf32>) -> tensor<2x3x1x1xf32>
    %y = "onnx.Div"(%d, %s) {onnx.results = ["y"]} : (tensor<2x3x8x8xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x8x8xf32>
    onnx.yield %y : tensor<2x3x8x8xf32>
  }
}

// -----

// Channels are split into groups before and joined behind.
// CHECK-LABEL: @group_norm
// CHECK: mp.composite = #mp.composite<"GroupNormalization", 0>, onnx.results = {{\[}}"m"]
// CHECK: mp.composite = #mp.composite<"GroupNormalization", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"GroupNormalization", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"GroupNormalization", 0>, onnx.results = {{\[}}"v"]
// CHECK: mp.composite = #mp.composite<"GroupNormalization", 0>, onnx.results = {{\[}}"ve"]
// CHECK: mp.composite = #mp.composite<"GroupNormalization", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"GroupNormalization", 0>, onnx.results = {{\[}}"n"]
// CHECK-NOT: mp.composite
module @group_norm attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %to = onnx.initializer "to" dense<[2, 2, 16]> : tensor<3xi64> : tensor<3xi64>
    %back = onnx.initializer "back" dense<[2, 4, 8]> : tensor<3xi64> : tensor<3xi64>
    %eps = onnx.initializer "eps" dense<9.99999974E-6> : tensor<f32> : tensor<f32>
    %w = onnx.initializer "w" dense<1.000000e+00> : tensor<4x1xf32> : tensor<4x1xf32>
    %r = "onnx.Reshape"(%x, %to) {onnx.results = ["r"]} : (tensor<2x4x8xf32>, tensor<3xi64>) -> tensor<2x2x16xf32>
    %m = "onnx.ReduceMean"(%r) {axes = array<i64: -1>, onnx.results = ["m"]} : (tensor<2x2x16xf32>) -> tensor<2x2x1xf32>
    %d = "onnx.Sub"(%r, %m) {onnx.results = ["d"]} : (tensor<2x2x16xf32>, tensor<2x2x1xf32>) -> tensor<2x2x16xf32>
    %p = "onnx.Mul"(%d, %d) {onnx.results = ["p"]} : (tensor<2x2x16xf32>, tensor<2x2x16xf32>) -> tensor<2x2x16xf32>
    %v = "onnx.ReduceMean"(%p) {axes = array<i64: -1>, onnx.results = ["v"]} : (tensor<2x2x16xf32>) -> tensor<2x2x1xf32>
    %ve = "onnx.Add"(%v, %eps) {onnx.results = ["ve"]} : (tensor<2x2x1xf32>, tensor<f32>) -> tensor<2x2x1xf32>
    %s = "onnx.Sqrt"(%ve) {onnx.results = ["s"]} : (tensor<2x2x1xf32>) -> tensor<2x2x1xf32>
    %n = "onnx.Div"(%d, %s) {onnx.results = ["n"]} : (tensor<2x2x16xf32>, tensor<2x2x1xf32>) -> tensor<2x2x16xf32>
    %k = "onnx.Reshape"(%n, %back) {onnx.results = ["k"]} : (tensor<2x2x16xf32>, tensor<3xi64>) -> tensor<2x4x8xf32>
    %g = "onnx.Mul"(%k, %w) {onnx.results = ["g"]} : (tensor<2x4x8xf32>, tensor<4x1xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.Add"(%g, %w) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<4x1xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// Batch statistics.
// CHECK-LABEL: @batch_norm_training
// CHECK: mp.composite = #mp.composite<"MeanVarianceNormalization", 0>, onnx.results = {{\[}}"m"]
// CHECK: mp.composite = #mp.composite<"MeanVarianceNormalization", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"MeanVarianceNormalization", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"MeanVarianceNormalization", 0>, onnx.results = {{\[}}"v"]
// CHECK: mp.composite = #mp.composite<"MeanVarianceNormalization", 0>, onnx.results = {{\[}}"ve"]
// CHECK: mp.composite = #mp.composite<"MeanVarianceNormalization", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"MeanVarianceNormalization", 0>, onnx.results = {{\[}}"y"]
module @batch_norm_training attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<8x3x4x4xf32>):
    %eps = onnx.initializer "eps" dense<9.99999974E-6> : tensor<f32> : tensor<f32>
    %m = "onnx.ReduceMean"(%x) {axes = array<i64: 0, 2, 3>, onnx.results = ["m"]} : (tensor<8x3x4x4xf32>) -> tensor<1x3x1x1xf32>
    %d = "onnx.Sub"(%x, %m) {onnx.results = ["d"]} : (tensor<8x3x4x4xf32>, tensor<1x3x1x1xf32>) -> tensor<8x3x4x4xf32>
    %p = "onnx.Mul"(%d, %d) {onnx.results = ["p"]} : (tensor<8x3x4x4xf32>, tensor<8x3x4x4xf32>) -> tensor<8x3x4x4xf32>
    %v = "onnx.ReduceMean"(%p) {axes = array<i64: 0, 2, 3>, onnx.results = ["v"]} : (tensor<8x3x4x4xf32>) -> tensor<1x3x1x1xf32>
    %ve = "onnx.Add"(%v, %eps) {onnx.results = ["ve"]} : (tensor<1x3x1x1xf32>, tensor<f32>) -> tensor<1x3x1x1xf32>
    %s = "onnx.Sqrt"(%ve) {onnx.results = ["s"]} : (tensor<1x3x1x1xf32>) -> tensor<1x3x1x1xf32>
    %y = "onnx.Div"(%d, %s) {onnx.results = ["y"]} : (tensor<8x3x4x4xf32>, tensor<1x3x1x1xf32>) -> tensor<8x3x4x4xf32>
    onnx.yield %y : tensor<8x3x4x4xf32>
  }
}

// -----

// Scale and bias are no part.
// CHECK-LABEL: @scaled_by_data
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"m"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"v"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"ve"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"LayerNormalization", 0>, onnx.results = {{\[}}"n"]
// CHECK-NOT: mp.composite
module @scaled_by_data attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>, %g: tensor<2x1x8xf32>):
    %eps = onnx.initializer "eps" dense<9.99999974E-6> : tensor<f32> : tensor<f32>
    %m = "onnx.ReduceMean"(%x) {axes = array<i64: -1>, onnx.results = ["m"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %d = "onnx.Sub"(%x, %m) {onnx.results = ["d"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %p = "onnx.Mul"(%d, %d) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %v = "onnx.ReduceMean"(%p) {axes = array<i64: -1>, onnx.results = ["v"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %ve = "onnx.Add"(%v, %eps) {onnx.results = ["ve"]} : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xf32>
    %s = "onnx.Sqrt"(%ve) {onnx.results = ["s"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %n = "onnx.Div"(%d, %s) {onnx.results = ["n"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.Mul"(%n, %g) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<2x1x8xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}
