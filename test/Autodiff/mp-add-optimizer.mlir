// RUN: mp-opt %s --mp-add-optimizer | FileCheck %s --check-prefixes=CHECK,SGD
// RUN: mp-opt %s --mp-add-optimizer="optimizer=momentum:momentum=0.5 weight-decay=0.25" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,MOMENTUM
// RUN: mp-opt %s --mp-add-optimizer=optimizer=nesterov \
// RUN:   | FileCheck %s --check-prefixes=CHECK,NESTEROV
// RUN: mp-opt %s --mp-add-optimizer="optimizer=adam lr=0.5" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ADAM
// RUN: mp-opt %s --mp-add-optimizer="optimizer=adamw:mode=1 weight-decay=0.25" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ADAMW
// RUN: mp-opt %s --mp-add-optimizer=optimizer=adagrad \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ADAGRAD
// RUN: mp-opt %s --mp-add-optimizer=optimizer=lamb \
// RUN:   | FileCheck %s --check-prefixes=CHECK,LAMB
// RUN: mp-opt %s --mp-add-optimizer=clip-norm=2 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,CLIP
// RUN: mp-opt %s --mp-add-optimizer=accumulate=4 \
// RUN:   | FileCheck %s --check-prefixes=ACCUMULATE

// Each state and the learning rate are inputs with defaults; what changes is
// an output.
// CHECK-LABEL: module @net
// CHECK: ^bb0(%w: tensor<4xf32>, %d: tensor<4xf32>, %learning_rate: tensor<f32>, %step: tensor<i64>
// SGD-SAME: ):
// MOMENTUM-SAME: , %w.velocity: tensor<4xf32>):
// NESTEROV-SAME: , %w.velocity: tensor<4xf32>):
// ADAM-SAME: , %w.exp_avg: tensor<4xf32>, %w.exp_avg_sq: tensor<4xf32>):
// ADAMW-SAME: , %w.exp_avg: tensor<4xf32>, %w.exp_avg_sq: tensor<4xf32>):
// ADAGRAD-SAME: , %w.sum: tensor<4xf32>):
// LAMB-SAME: , %w.exp_avg: tensor<4xf32>, %w.exp_avg_sq: tensor<4xf32>):
// CLIP-SAME: ):
// MOMENTUM: onnx.initializer "w.velocity" dense<0.000000e+00> : tensor<4xf32> overridable
// CHECK: onnx.initializer "step" dense<0> : tensor<i64> overridable
// SGD: onnx.initializer "learning_rate" dense<1.000000e-03> : tensor<f32> overridable
// ADAM: onnx.initializer "learning_rate" dense<5.000000e-01> : tensor<f32> overridable
// CHECK: %[[GRADIENT:.*]] = mp.gradient %d of %w
// SGD: mp.update %step to %{{.*}} {onnx.results = ["step_new"]} : tensor<i64>

// SGD: %[[MOVE:.*]] = "onnx.Mul"(%learning_rate, %[[GRADIENT]])
// SGD: %[[NEXT:.*]] = "onnx.Sub"(%w, %[[MOVE]])
// SGD: %[[W:.*]] = mp.update %w to %[[NEXT]] {onnx.results = ["w_new"]} : tensor<4xf32>
// SGD: onnx.yield %w, %{{.*}}, %[[W]] :

// The decay joins the gradient, which joins the velocity.
// MOMENTUM-DAG: %[[OLD:.*]] = "onnx.Mul"(%w.velocity,
// MOMENTUM-DAG: %[[DECAY:.*]] = "onnx.Mul"(%w,
// MOMENTUM-DAG: %[[DECAYED:.*]] = "onnx.Add"(%[[GRADIENT]], %[[DECAY]])
// MOMENTUM: %[[VELOCITY:.*]] = "onnx.Add"(%[[OLD]], %[[DECAYED]])
// MOMENTUM: "onnx.Mul"(%learning_rate, %[[VELOCITY]])
// MOMENTUM: mp.update %w to
// MOMENTUM: mp.update %w.velocity to %[[VELOCITY]] {onnx.results = ["w.velocity_new"]}

// The step looks ahead: from the gradient along the new velocity.
// NESTEROV: %[[VELOCITY:.*]] = "onnx.Add"(%{{.*}}, %[[GRADIENT]])
// NESTEROV: %[[AHEAD:.*]] = "onnx.Mul"(%[[VELOCITY]],
// NESTEROV: %[[SUM:.*]] = "onnx.Add"(%[[GRADIENT]], %[[AHEAD]])
// NESTEROV: "onnx.Mul"(%learning_rate, %[[SUM]])
// NESTEROV: mp.update %w.velocity to %[[VELOCITY]]

// ADAM: mp.update %step to
// ADAM: %[[MEAN:.*]] = "onnx.Add"
// ADAM: %[[SQUARE:.*]] = "onnx.Mul"(%[[GRADIENT]], %[[GRADIENT]])
// ADAM: %[[SQUARES:.*]] = "onnx.Add"
// The powers of a rate are products of two that tables in float64 hold.
// ADAM-COUNT-2: "onnx.Gather"({{.*}}xf64>, tensor<i64>) -> tensor<f64>
// ADAM: %[[POWER:.*]] = "onnx.Mul"({{.*}}-> tensor<f64>
// ADAM: "onnx.Sub"(%{{.*}}, %[[POWER]]) {{.*}}-> tensor<f64>
// ADAM: mp.update %w.exp_avg to %[[MEAN]]
// ADAM: mp.update %w.exp_avg_sq to %[[SQUARES]]

// The decay comes last, without the gradient.
// ADAMW: %[[MOVED:.*]] = "onnx.Sub"(%w, %
// ADAMW: %[[RATE:.*]] = "onnx.Mul"(%learning_rate,
// ADAMW: %[[SHARE:.*]] = "onnx.Mul"(%[[RATE]], %[[MOVED]])
// ADAMW: %[[NEXT:.*]] = "onnx.Sub"(%[[MOVED]], %[[SHARE]])
// ADAMW: mp.update %w to %[[NEXT]]

// ADAGRAD: %[[SUM:.*]] = "onnx.Add"(%w.sum,
// ADAGRAD: %[[ROOT:.*]] = "onnx.Sqrt"(%[[SUM]])
// ADAGRAD: %[[DIVISOR:.*]] = "onnx.Add"(%[[ROOT]],
// ADAGRAD: "onnx.Div"(%[[GRADIENT]], %[[DIVISOR]])
// ADAGRAD: mp.update %w.sum to %[[SUM]]

// Where one of the two norms is zero their quotient counts as one.
// LAMB: %[[BOTH:.*]] = "onnx.And"
// LAMB: %[[DIVISOR:.*]] = "onnx.Where"(%[[BOTH]],
// LAMB: %[[QUOTIENT:.*]] = "onnx.Div"(%{{.*}}, %[[DIVISOR]])
// LAMB: "onnx.Where"(%[[BOTH]], %[[QUOTIENT]],
// LAMB: mp.update %w to

// CLIP: %[[NORM:.*]] = "onnx.Sqrt"
// CLIP: %[[SAFE:.*]] = "onnx.Add"(%[[NORM]],
// CLIP: %[[QUOTIENT:.*]] = "onnx.Div"(%{{.*}}, %[[SAFE]])
// CLIP: %[[FACTOR:.*]] = "onnx.Min"(%[[QUOTIENT]],
// CLIP: %[[CLIPPED:.*]] = "onnx.Mul"(%[[GRADIENT]], %[[FACTOR]])
// CLIP: "onnx.Mul"(%learning_rate, %[[CLIPPED]])

// The sums change in every step, all else in every fourth.
// ACCUMULATE: ^bb0(%w: tensor<4xf32>, %d: tensor<4xf32>, %accumulated_steps: tensor<i64>, %w.accumulated: tensor<4xf32>, %learning_rate: tensor<f32>, %step: tensor<i64>):
// ACCUMULATE: %[[GRADIENT:.*]] = mp.gradient %d of %w
// ACCUMULATE: %[[DUE:.*]] = "onnx.Equal"
// ACCUMULATE: mp.update %accumulated_steps to %{{.*}} always
// ACCUMULATE: %[[SUM:.*]] = "onnx.Add"(%w.accumulated, %[[GRADIENT]])
// ACCUMULATE: %[[RESET:.*]] = "onnx.Where"(%[[DUE]], %{{.*}}, %[[SUM]])
// ACCUMULATE: mp.update %w.accumulated to %[[RESET]] always
// ACCUMULATE: %[[MEAN:.*]] = "onnx.Div"(%[[SUM]],
// ACCUMULATE: mp.update %step to %{{.*}} if %[[DUE]]
// ACCUMULATE: "onnx.Mul"(%learning_rate, %[[MEAN]])
// ACCUMULATE: mp.update %w to %{{.*}} if %[[DUE]]
module @net attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %d: tensor<4xf32>):
    %0 = onnx.initializer "w" dense<1.0> : tensor<4xf32> overridable : tensor<4xf32>
    %1 = mp.gradient %d of %w {onnx.results = ["w_grad"]} : tensor<4xf32>, tensor<4xf32>
    onnx.yield %w : tensor<4xf32> {onnx.inputs = [{name = "w"}, {name = "d"}], onnx.outputs = [{name = "w"}]}
  }
}
