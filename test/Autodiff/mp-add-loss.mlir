// RUN: mp-opt %s --mp-add-loss=loss=softmax-cross-entropy \
// RUN:   | FileCheck %s --check-prefixes=CHECK,SCE
// RUN: mp-opt %s --mp-add-loss=loss=nll | FileCheck %s --check-prefixes=CHECK,NLL
// RUN: mp-opt %s --mp-add-loss=loss=mse | FileCheck %s --check-prefixes=CHECK,MSE
// RUN: mp-opt %s --mp-add-loss=loss=bce | FileCheck %s --check-prefixes=CHECK,BCE
// RUN: mp-opt %s --mp-add-loss="loss=nll:image class-axis=-1" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,AXIS
// RUN: mp-opt %s --mp-add-loss=loss=bce:p | FileCheck %s --check-prefix=SIGMOID
// RUN: mp-opt %s --mp-add-loss=loss=output:total | FileCheck %s --check-prefix=OUTPUT

// The first float output is what the loss is of; the loss comes before it.
// CHECK-LABEL: module @net
// CHECK: onnx.graph attributes {mp.loss = "loss"}

// Classes lack the axis of the scores; all that is added stays fp32.
// SCE: ^bb0(%x: tensor<?x4xf32>, %labels: tensor<?xi64>):
// SCE: %loss = "onnx.SoftmaxCrossEntropyLoss"(%y, %labels) {mp.added, mp.hazard = #mp.hazard<"part of the loss">, {{.*}}reduction = "mean"}
// SCE-SAME: (tensor<?x4xf32>, tensor<?xi64>) -> tensor<f32>
// SCE: onnx.yield %loss, %index, %y, %image, %p, %total

// NLL: ^bb0(%x: tensor<?x4xf32>, %labels: tensor<?xi64>):
// NLL: %loss = "onnx.NegativeLogLikelihoodLoss"(%y, %labels) {mp.added, mp.hazard = #mp.hazard<"part of the loss">

// A target is like the output.
// MSE: ^bb0(%x: tensor<?x4xf32>, %labels: tensor<?x4xf32>):
// MSE: %[[ERROR:.*]] = "onnx.Sub"(%y, %labels) {mp.added, mp.hazard
// MSE: %[[SQUARE:.*]] = "onnx.Mul"(%[[ERROR]], %[[ERROR]]) {mp.added, mp.hazard
// MSE: %loss = "onnx.ReduceMean"(%[[SQUARE]]) {keepdims = 0 : i64, mp.added, mp.hazard

// No exponential grows, and no probability is rounded to zero.
// BCE: ^bb0(%x: tensor<?x4xf32>, %labels: tensor<?x4xf32>):
// BCE: %[[ABS:.*]] = "onnx.Abs"(%y)
// BCE: %[[NEG:.*]] = "onnx.Neg"(%[[ABS]])
// BCE: %[[DECAY:.*]] = "onnx.Softplus"(%[[NEG]])
// BCE: %[[TWICE:.*]] = "onnx.Add"(%y, %[[ABS]])
// BCE: %[[POSITIVE:.*]] = "onnx.Mul"(%[[TWICE]],
// BCE: %[[PRODUCT:.*]] = "onnx.Mul"(%y, %labels)
// BCE: %[[LINEAR:.*]] = "onnx.Sub"(%[[POSITIVE]], %[[PRODUCT]])
// BCE: %[[SUM:.*]] = "onnx.Add"(%[[LINEAR]], %[[DECAY]])
// BCE: %loss = "onnx.ReduceMean"(%[[SUM]])

// Classes on another axis are moved after the batch.
// AXIS: ^bb0(%x: tensor<?x4xf32>, %labels: tensor<?x2xi64>):
// AXIS: %[[MOVED:.*]] = "onnx.Transpose"(%image) {{.*}}perm = array<i64: 0, 2, 1>
// AXIS: "onnx.NegativeLogLikelihoodLoss"(%[[MOVED]], %labels)

// Of probabilities, those before the Sigmoid count.
// SIGMOID: %loss_Abs = "onnx.Abs"(%y)

// A loss that the model computes stays where it is, and needs no labels; the
// step has it under the name of losses, too.
// OUTPUT: onnx.graph attributes {mp.loss = "total"}
// OUTPUT: ^bb0(%x: tensor<?x4xf32>):
// OUTPUT: %loss = "onnx.Identity"(%total)
// OUTPUT: onnx.yield %loss, %index, %y, %image, %p, %total
module @net attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>):
    %s = onnx.initializer "s" dense<[-1, 2, 2]> : tensor<3xi64> : tensor<3xi64>
    %0 = "onnx.ArgMax"(%x) {onnx.results = ["index"]} : (tensor<?x4xf32>) -> tensor<1x4xi64>
    %1 = "onnx.Relu"(%x) {onnx.results = ["y"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = "onnx.Reshape"(%x, %s) {onnx.results = ["image"]} : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<?x2x2xf32>
    %3 = "onnx.Sigmoid"(%1) {onnx.results = ["p"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %4 = "onnx.ReduceSum"(%x) {keepdims = 0 : i64, onnx.results = ["total"]} : (tensor<?x4xf32>) -> tensor<f32>
    onnx.yield %0, %1, %2, %3, %4 : tensor<1x4xi64>, tensor<?x4xf32>, tensor<?x2x2xf32>, tensor<?x4xf32>, tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "index"}, {name = "y"}, {name = "image"}, {name = "p"}, {name = "total"}]}
  }
}
