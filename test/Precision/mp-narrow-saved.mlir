// RUN: mp-opt %s --split-input-file --mp-narrow-saved | FileCheck %s

// The forward pass has %h in 16 bit and %p in both: the backward pass reads
// the 16-bit values, through casts in front of its first node that wants them.
// What the forward pass reads does not change.
// CHECK-LABEL: module @copies
// CHECK-SAME: mp.casts_inserted = 2
// CHECK: %[[H:.*]] = "onnx.MatMul"
// CHECK: %[[WIDE:.*]] = "onnx.Cast"(%[[H]])
// CHECK: %[[P:.*]] = "onnx.Softmax"(%[[WIDE]])
// CHECK: %[[LOW:.*]] = "onnx.Cast"(%[[P]])
// CHECK: %loss = "onnx.ReduceSum"
// CHECK: mp.loss_seed %loss
// CHECK: %[[AGAIN:.*]] = "onnx.Cast"(%[[LOW]]){{.*}}(tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK: %dh = "onnx.com.microsoft.SoftmaxGrad_13"(%{{.*}}, %[[AGAIN]])
// CHECK: %[[BACK:.*]] = "onnx.Cast"(%[[H]]){{.*}}(tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK: %dw = "onnx.Mul"(%dh, %[[BACK]])
module @copies attributes {onnx.opset_import = [["", 18], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xbf16>, %w: tensor<4x4xf32>, %s: tensor<f32>):
    %shape = onnx.initializer "shape" dense<4> : tensor<2xi64> : tensor<2xi64>
    %wl = "onnx.Cast"(%w) {mp.inserted, onnx.results = ["wl"], to = 16 : i64} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    %h = "onnx.MatMul"(%x, %wl) {onnx.results = ["h"]} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
    %hw = "onnx.Cast"(%h) {mp.inserted, onnx.results = ["hw"], to = 1 : i64} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
    %p = "onnx.Softmax"(%hw) {onnx.results = ["p"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %pl = "onnx.Cast"(%p) {mp.inserted, onnx.results = ["pl"], to = 16 : i64} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    %y = "onnx.Neg"(%pl) {onnx.results = ["y"]} : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
    %yw = "onnx.Cast"(%y) {mp.inserted, onnx.results = ["yw"], to = 1 : i64} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
    %loss = "onnx.ReduceSum"(%yw) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4x4xf32>) -> tensor<f32>
    %seed = mp.loss_seed %loss : tensor<f32>
    %d = "onnx.Expand"(%seed, %shape) {onnx.results = ["d"]} : (tensor<f32>, tensor<2xi64>) -> tensor<4x4xf32>
    %dh = "onnx.com.microsoft.SoftmaxGrad_13"(%d, %p) {onnx.results = ["dh"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %dw = "onnx.Mul"(%dh, %hw) {onnx.results = ["dw"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %g = mp.gradient %dw of %w : tensor<4x4xf32>, tensor<4x4xf32>
    onnx.yield %loss, %g : tensor<f32>, tensor<4x4xf32> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "s"}]}
  }
}

// -----

// fp32 values without a copy stay, and so do graphs that do not train.
// CHECK-LABEL: module @stays
// CHECK-NOT: onnx.Cast
module @stays attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>, %w: tensor<4xf32>):
    %y = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %loss = "onnx.ReduceSum"(%y) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    %seed = mp.loss_seed %loss : tensor<f32>
    %dw = "onnx.Mul"(%y, %seed) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %g = mp.gradient %dw of %w : tensor<4xf32>, tensor<4xf32>
    onnx.yield %loss, %g : tensor<f32>, tensor<4xf32> {onnx.inputs = [{name = "x"}, {name = "w"}]}
  }
}

// -----

// Which element the maximum is: what the node read is kept in fp32, so what it
// yielded is not rounded on its way there. Others read the copy.
// CHECK-LABEL: module @choice
// CHECK: %[[Y:.*]] = "onnx.ReduceMax"(%p
// CHECK: %[[LOW:.*]] = "onnx.Cast"(%[[Y]])
// CHECK: mp.loss_seed
// CHECK: %[[U:.*]] = "onnx.Unsqueeze"(%[[Y]]
// CHECK: "onnx.Equal"(%p, %[[U]])
// CHECK: %[[WIDE:.*]] = "onnx.Cast"(%[[LOW]])
// CHECK: "onnx.Mul"(%{{.*}}, %[[WIDE]])
module @choice attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>):
    %axes = onnx.initializer "axes" dense<1> : tensor<1xi64> : tensor<1xi64>
    %h = "onnx.Mul"(%x, %w) {onnx.results = ["h"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %p = "onnx.Softmax"(%h) {onnx.results = ["p"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = "onnx.ReduceMax"(%p, %axes) {keepdims = 0 : i64, onnx.results = ["y"]} : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<4xf32>
    %yl = "onnx.Cast"(%y) {mp.inserted, onnx.results = ["yl"], to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    %n = "onnx.Neg"(%yl) {onnx.results = ["n"]} : (tensor<4xbf16>) -> tensor<4xbf16>
    %nw = "onnx.Cast"(%n) {mp.inserted, onnx.results = ["nw"], to = 1 : i64} : (tensor<4xbf16>) -> tensor<4xf32>
    %loss = "onnx.ReduceSum"(%nw) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    %seed = mp.loss_seed %loss : tensor<f32>
    %u = "onnx.Unsqueeze"(%y, %axes) {onnx.results = ["u"]} : (tensor<4xf32>, tensor<1xi64>) -> tensor<4x1xf32>
    %e = "onnx.Equal"(%p, %u) {onnx.results = ["e"]} : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xi1>
    %d = "onnx.Mul"(%seed, %y) {onnx.results = ["d"]} : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
    %zero = onnx.initializer "zero" dense<0.0> : tensor<f32> : tensor<f32>
    %dw = "onnx.Where"(%e, %d, %zero) {onnx.results = ["dw"]} : (tensor<4x4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4x4xf32>
    %g = mp.gradient %dw of %w : tensor<4x4xf32>, tensor<4x4xf32>
    onnx.yield %loss, %g : tensor<f32>, tensor<4x4xf32> {onnx.inputs = [{name = "x"}, {name = "w"}]}
  }
}

// -----

// CHECK-LABEL: module @inference
// CHECK: %[[WIDE:.*]] = "onnx.Cast"(%x)
// CHECK: "onnx.Exp"(%[[WIDE]])
// CHECK: "onnx.Neg"(%[[WIDE]])
module @inference attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xbf16>):
    %0 = "onnx.Cast"(%x) {mp.inserted, to = 1 : i64} : (tensor<4xbf16>) -> tensor<4xf32>
    %1 = "onnx.Exp"(%0) {onnx.results = ["a"]} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.Neg"(%0) {onnx.results = ["b"]} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %1, %2 : tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "x"}]}
  }
}

// -----

// Positions of the backward pass are those of the forward pass.
// CHECK-LABEL: module @positions
// CHECK-SAME: mp.casts_inserted = 0
// CHECK: "onnx.Floor"(%p)
module @positions attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>):
    %p = "onnx.Softmax"(%x) {onnx.results = ["p"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %pl = "onnx.Cast"(%p) {mp.inserted, onnx.results = ["pl"], to = 16 : i64} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    %y = "onnx.Neg"(%pl) {onnx.results = ["y"]} : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
    %yw = "onnx.Cast"(%y) {mp.inserted, onnx.results = ["yw"], to = 1 : i64} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
    %loss = "onnx.ReduceSum"(%yw) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4x4xf32>) -> tensor<f32>
    %seed = mp.loss_seed %loss : tensor<f32>
    %f = "onnx.Floor"(%p) {mp.shape_arithmetic, onnx.results = ["f"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %dw = "onnx.Mul"(%f, %seed) {onnx.results = ["dw"]} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
    %g = mp.gradient %dw of %w : tensor<4x4xf32>, tensor<4x4xf32>
    onnx.yield %loss, %g : tensor<f32>, tensor<4x4xf32> {onnx.inputs = [{name = "x"}, {name = "w"}]}
  }
}
