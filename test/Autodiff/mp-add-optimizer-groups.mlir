// RUN: mp-opt %s --mp-add-optimizer="weight-decay=0.25 group=b:weight-decay=0,w:lr-scale=0.5" \
// RUN:   | FileCheck %s --check-prefix=GROUPS
// RUN: mp-opt %s --mp-add-optimizer="lr=0.5 group={.*:lr=0.25,weight-decay=0.125},b:lr-scale=1" \
// RUN:   | FileCheck %s --check-prefix=LAST
// RUN: mp-opt %s --mp-add-optimizer="clip-value=0.5 clip-norm=2" \
// RUN:   | FileCheck %s --check-prefix=CLIP
// RUN: mp-opt %s --mp-add-optimizer="average=ema:decay=0.75 accumulate=2" \
// RUN:   | FileCheck %s --check-prefix=AVERAGE

// A name decides on its decay and its rate.
// GROUPS-DAG: %[[HALF:.*]] = "onnx.Constant"{{.*}}dense<5.000000e-01>
// GROUPS: %[[DW:.*]] = mp.gradient %d of %w
// GROUPS: %[[DB:.*]] = mp.gradient %e of %b
// GROUPS: %[[DECAY:.*]] = "onnx.Mul"(%w,
// GROUPS: %[[DECAYED:.*]] = "onnx.Add"(%[[DW]], %[[DECAY]])
// GROUPS: %[[RATE:.*]] = "onnx.Mul"(%learning_rate, %[[HALF]])
// GROUPS: "onnx.Mul"(%[[RATE]], %[[DECAYED]])
// GROUPS: "onnx.Mul"(%learning_rate, %[[DB]])

// A rate is a factor of the step's own, so that both follow its schedule. The
// last group that says something counts, and leaves what others say.
// LAST: %[[RATE:.*]] = "onnx.Mul"(%learning_rate,
// LAST: "onnx.Mul"(%[[RATE]],
// LAST: %[[DECAY:.*]] = "onnx.Mul"(%b,
// LAST: %[[DECAYED:.*]] = "onnx.Add"(%{{.*}}, %[[DECAY]])
// LAST: "onnx.Mul"(%learning_rate, %[[DECAYED]])

// Elements are bounded before the norm is taken.
// CLIP: %[[W:.*]] = "onnx.Clip"(%{{.*}}, %[[LOW:[^ ]*]], %[[HIGH:[^ )]*]])
// CLIP: %[[B:.*]] = "onnx.Clip"(%{{.*}}, %[[LOW]], %[[HIGH]])
// CLIP: "onnx.Mul"(%[[W]], %[[W]])

// The first update copies; there is one only where parameters have theirs.
// AVERAGE: , %w.ema: tensor<4xf32>, %b.ema: tensor<2xf32>):
// AVERAGE: mp.update %w to %[[NEXT:.*]] if %[[DUE:[^ ]*]]
// AVERAGE: %[[FIRST:.*]] = "onnx.Equal"
// AVERAGE: %[[MOVE:.*]] = "onnx.Sub"(%[[NEXT]], %w.ema)
// AVERAGE: %[[SHARE:.*]] = "onnx.Mul"(%[[MOVE]],
// AVERAGE: %[[MOVED:.*]] = "onnx.Add"(%w.ema, %[[SHARE]])
// AVERAGE: %[[AVERAGE:.*]] = "onnx.Where"(%[[FIRST]], %[[NEXT]], %[[MOVED]])
// AVERAGE: mp.update %w.ema to %[[AVERAGE]] if %[[DUE]]
module @net attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %b: tensor<2xf32>, %d: tensor<4xf32>, %e: tensor<2xf32>):
    %0 = onnx.initializer "w" dense<1.0> : tensor<4xf32> overridable : tensor<4xf32>
    %1 = onnx.initializer "b" dense<1.0> : tensor<2xf32> overridable : tensor<2xf32>
    %2 = mp.gradient %d of %w {onnx.results = ["w_grad"]} : tensor<4xf32>, tensor<4xf32>
    %3 = mp.gradient %e of %b {onnx.results = ["b_grad"]} : tensor<2xf32>, tensor<2xf32>
    onnx.yield %w : tensor<4xf32> {onnx.inputs = [{name = "w"}, {name = "b"}, {name = "d"}, {name = "e"}], onnx.outputs = [{name = "w"}]}
  }
}
