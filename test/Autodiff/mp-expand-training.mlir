// RUN: mp-opt %s --split-input-file --mp-expand-training | FileCheck %s

// A Gradient is the backward pass of the value that it names, and what comes
// behind it learns its type.
// CHECK-LABEL: module @gradient
// CHECK-NOT: preview.training.Gradient
// CHECK: %loss = "onnx.ReduceSum"
// CHECK: mp.loss_seed %loss
// CHECK: %[[G:.*]] = mp.gradient %{{.*}} of %w {onnx.results = ["dw"]} : tensor<4xf32>, tensor<4xf32>
// CHECK: "onnx.Sub"(%w, %[[G]]) {{.*}} -> tensor<4xf32>
module @gradient attributes {onnx.opset_import = [["", 18], ["ai.onnx.preview.training", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4xf32>):
    %y = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %l = "onnx.ReduceSum"(%y) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    %d = "onnx.ai.onnx.preview.training.Gradient"(%w, %x) {onnx.name = "grad", onnx.results = ["dw"], xs = ["w"], y = "loss", zs = ["x"]} : (tensor<4xf32>, tensor<2x4xf32>) -> !onnx.unknown
    %n = "onnx.Sub"(%w, %d) {onnx.results = ["n"]} : (tensor<4xf32>, !onnx.unknown) -> !onnx.unknown
    onnx.yield %n : !onnx.unknown {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "n"}]}
  }
}

// -----

// Operands that are not the values named: the same function, elsewhere.
// CHECK-LABEL: module @elsewhere
// CHECK: %[[POINT:.*]] = "onnx.Add"(%x, %x)
// CHECK: %[[COPY:.*]] = "onnx.Mul"(%[[POINT]], %w)
// CHECK: %[[LOSS:.*]] = "onnx.ReduceSum"(%[[COPY]])
// CHECK: mp.loss_seed %[[LOSS]]
// CHECK: onnx.yield %loss,
module @elsewhere attributes {onnx.opset_import = [["", 18], ["ai.onnx.preview.training", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4xf32>):
    %y = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %l = "onnx.ReduceSum"(%y) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    %t = "onnx.Add"(%x, %x) {onnx.results = ["t"]} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %d = "onnx.ai.onnx.preview.training.Gradient"(%w, %t) {onnx.name = "grad", onnx.results = ["dw"], xs = ["w"], y = "loss", zs = ["x"]} : (tensor<4xf32>, tensor<2x4xf32>) -> !onnx.unknown
    onnx.yield %l, %d : tensor<f32>, !onnx.unknown {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "loss"}, {name = "dw"}]}
  }
}

// -----

// What the value does not depend on has a gradient of zeros.
// CHECK-LABEL: module @independent
// CHECK: %[[ZERO:.*]] = "onnx.Constant"() {{.*}}dense<0.000000e+00>
// CHECK: mp.gradient %{{.*}} of %w
// CHECK: mp.gradient %{{.*}} of %u {onnx.results = ["du"]} : tensor<4xf32>, tensor<4xf32>
module @independent attributes {onnx.opset_import = [["", 18], ["ai.onnx.preview.training", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %u: tensor<4xf32>):
    %y = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %l = "onnx.ReduceSum"(%y) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    %d:2 = "onnx.ai.onnx.preview.training.Gradient"(%w, %u, %x) {onnx.name = "grad", onnx.results = ["dw", "du"], xs = ["w", "u"], y = "loss", zs = ["x"]} : (tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (!onnx.unknown, !onnx.unknown)
    onnx.yield %d#0, %d#1 : !onnx.unknown, !onnx.unknown {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "u"}], onnx.outputs = [{name = "dw"}, {name = "du"}]}
  }
}

// -----

// The specification's formulas; in the first step the gradient counts in full.
// CHECK-LABEL: module @momentum
// CHECK: %[[SHARE:.*]] = "onnx.Where"
// CHECK: "onnx.Mul"(%g, %[[SHARE]])
// CHECK: %v_new = "onnx.Add"
// CHECK: %[[AHEAD:.*]] = "onnx.Mul"(%v_new,
// CHECK: %[[DIRECTION:.*]] = "onnx.Add"(%g, %[[AHEAD]])
// CHECK: %[[MOVE:.*]] = "onnx.Mul"(%r, %[[DIRECTION]])
// CHECK: %w_new = "onnx.Sub"(%w, %[[MOVE]])
// CHECK: onnx.yield %w_new, %v_new
module @momentum attributes {onnx.opset_import = [["", 18], ["ai.onnx.preview.training", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %r: tensor<f32>, %c: tensor<i64>, %g: tensor<4xf32>, %v: tensor<4xf32>):
    %y = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %l = "onnx.ReduceSum"(%y) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    %n:2 = "onnx.ai.onnx.preview.training.Momentum"(%r, %c, %w, %g, %v) {alpha = 0.5 : f32, beta = 0.25 : f32, mode = "nesterov", norm_coefficient = 0.0 : f32, onnx.name = "opt", onnx.results = ["w_new", "v_new"]} : (tensor<f32>, tensor<i64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    onnx.yield %n#0, %n#1 : tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "r"}, {name = "c"}, {name = "g"}, {name = "v"}], onnx.outputs = [{name = "w_new"}, {name = "v_new"}]}
  }
}

// -----

// CHECK-LABEL: module @adagrad
// CHECK: %[[NORM:.*]] = "onnx.Mul"(%w,
// CHECK: %[[G:.*]] = "onnx.Add"(%[[NORM]], %g)
// CHECK: %[[SQUARE:.*]] = "onnx.Mul"(%[[G]], %[[G]])
// CHECK: %v_new = "onnx.Add"(%v, %[[SQUARE]])
// CHECK: "onnx.Sqrt"(%v_new)
// CHECK: onnx.yield %w_new, %v_new
module @adagrad attributes {onnx.opset_import = [["", 18], ["ai.onnx.preview.training", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %r: tensor<f32>, %c: tensor<i64>, %g: tensor<4xf32>, %v: tensor<4xf32>):
    %y = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %l = "onnx.ReduceSum"(%y) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    %n:2 = "onnx.ai.onnx.preview.training.Adagrad"(%r, %c, %w, %g, %v) {norm_coefficient = 0.5 : f32, onnx.name = "opt", onnx.results = ["w_new", "v_new"]} : (tensor<f32>, tensor<i64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    onnx.yield %n#0, %n#1 : tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "r"}, {name = "c"}, {name = "g"}, {name = "v"}], onnx.outputs = [{name = "w_new"}, {name = "v_new"}]}
  }
}

// -----

// CHECK-LABEL: module @adam
// CHECK: %v_new = "onnx.Add"
// CHECK: %[[SQUARE:.*]] = "onnx.Mul"(%g, %g)
// CHECK: %s_new = "onnx.Add"
// CHECK: "onnx.Sqrt"(%s_new)
// CHECK: %[[NEXT:.*]] = "onnx.Sub"(%w,
// CHECK: %w_new = "onnx.Mul"(%[[NEXT]],
// CHECK: onnx.yield %w_new, %v_new, %s_new
module @adam attributes {onnx.opset_import = [["", 18], ["ai.onnx.preview.training", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %r: tensor<f32>, %c: tensor<i64>, %g: tensor<4xf32>, %v: tensor<4xf32>, %s: tensor<4xf32>):
    %y = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %l = "onnx.ReduceSum"(%y) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
    %n:3 = "onnx.ai.onnx.preview.training.Adam"(%r, %c, %w, %g, %v, %s) {norm_coefficient_post = 0.5 : f32, onnx.name = "opt", onnx.results = ["w_new", "v_new", "s_new"]} : (tensor<f32>, tensor<i64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    onnx.yield %n#0, %n#1, %n#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "r"}, {name = "c"}, {name = "g"}, {name = "v"}, {name = "s"}], onnx.outputs = [{name = "w_new"}, {name = "v_new"}, {name = "s_new"}]}
  }
}
