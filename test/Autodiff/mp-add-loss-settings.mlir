// RUN: mp-opt %s "--mp-add-loss=loss={{softmax-cross-entropy:weights=1,2,3,4,ignore-index=-100,reduction=sum}}" \
// RUN:   | FileCheck %s --check-prefix=CLASSES
// RUN: mp-opt %s "--mp-add-loss=loss={{softmax-cross-entropy:ignore-index=7,label-smoothing=0.25}}" \
// RUN:   | FileCheck %s --check-prefix=SMOOTH
// RUN: mp-opt %s --mp-add-loss=loss=smooth-l1:beta=0.5 | FileCheck %s --check-prefix=HUBER
// RUN: mp-opt %s --mp-add-loss=loss=kl-div:reduction=batchmean | FileCheck %s --check-prefix=KL
// RUN: mp-opt %s "--mp-add-loss=loss={{l1:weight=0.5,labels=x}}" | FileCheck %s --check-prefix=OWN
// RUN: mp-opt %s "--mp-add-loss=loss=mse,l1:p,output:total:weight=0.25" \
// RUN:   | FileCheck %s --check-prefix=SEVERAL
// RUN: mp-opt %s --mp-add-loss=loss=mse:q:0:reduction=sum | FileCheck %s --check-prefix=COLON

// Weights are a constant of the graph, but no parameter; what does not count is
// the node's.
// CLASSES: %[[WEIGHTS:.*]] = "onnx.Constant"() {mp.added, {{.*}}dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CLASSES: %loss = "onnx.SoftmaxCrossEntropyLoss"(%y, %labels, %[[WEIGHTS]]) {ignore_index = -100 : i64, {{.*}}reduction = "sum"}

// All classes have a share in a label; ignored ones count neither in the sum
// nor in the number that it is divided by.
// SMOOTH: %{{.*}}, %[[LOG:.*]] = "onnx.SoftmaxCrossEntropyLoss"(%y, %labels) {ignore_index = 7
// SMOOTH: "onnx.ReduceSum"(%[[LOG]],
// SMOOTH: %[[IGNORED:.*]] = "onnx.Equal"(%labels,
// SMOOTH: %[[COUNTED:.*]] = "onnx.Where"(%[[IGNORED]],
// SMOOTH: %[[SUM:.*]] = "onnx.ReduceSum"(%[[COUNTED]])
// SMOOTH: %[[COUNT:.*]] = "onnx.ReduceSum"
// SMOOTH: %[[NONE:.*]] = "onnx.Equal"(%[[COUNT]],
// SMOOTH: %[[DIVISOR:.*]] = "onnx.Where"(%[[NONE]], %{{.*}}, %[[COUNT]])
// SMOOTH: "onnx.Div"(%[[SUM]], %[[DIVISOR]])
// SMOOTH: %loss = "onnx.Add"

// The nearer of distance and bound, times what is left.
// HUBER: %[[DISTANCE:.*]] = "onnx.Abs"
// HUBER: %[[NEAR:.*]] = "onnx.Min"(%[[DISTANCE]],
// HUBER: %[[HALF:.*]] = "onnx.Mul"(%[[NEAR]],
// HUBER: %[[REST:.*]] = "onnx.Sub"(%[[DISTANCE]], %[[HALF]])
// HUBER: "onnx.Mul"(%[[NEAR]], %[[REST]])

// No logarithm of zero is multiplied with it.
// KL: %[[ZERO:.*]] = "onnx.Equal"(%labels,
// KL: %[[KNOWN:.*]] = "onnx.Where"(%[[ZERO]], %{{.*}}, %labels)
// KL: "onnx.Log"(%[[KNOWN]])
// KL: %[[SUM:.*]] = "onnx.ReduceSum"
// KL: %loss = "onnx.Div"(%[[SUM]],

// An input of the model can be what its output is compared with.
// OWN: ^bb0(%x: tensor<?x4xf32>):
// OWN: "onnx.Sub"(%y, %x)
// OWN: onnx.yield %loss, %loss.l1, %y

// Several are added up; each that is made here is an output behind the sum.
// SEVERAL: onnx.graph attributes {mp.loss = "loss"}
// SEVERAL: ^bb0(%x: tensor<?x4xf32>, %labels: tensor<?x4xf32>, %labels_2: tensor<?x4xf32>):
// SEVERAL: %loss.mse = "onnx.ReduceMean"
// SEVERAL: "onnx.Sub"(%p, %labels_2)
// SEVERAL: %loss.l1 = "onnx.ReduceMean"
// SEVERAL: %[[BOTH:.*]] = "onnx.Add"(%loss.mse, %loss.l1) {mp.added, mp.hazard
// SEVERAL: %[[SHARE:.*]] = "onnx.Mul"(%total,
// SEVERAL: %loss = "onnx.Add"(%[[BOTH]], %[[SHARE]])
// SEVERAL: onnx.yield %loss, %loss.mse, %loss.l1, %y, %p, %{{.*}}, %total

// Names of outputs may have colons.
// COLON: onnx.results = ["q:0"]
// COLON: %loss = "onnx.ReduceSum"
module @net attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["y"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = "onnx.Sigmoid"(%0) {onnx.results = ["p"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = "onnx.Softmax"(%0) {onnx.results = ["q:0"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = "onnx.ReduceSum"(%x) {keepdims = 0 : i64, onnx.results = ["total"]} : (tensor<?x4xf32>) -> tensor<f32>
    onnx.yield %0, %1, %2, %3 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<f32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}, {name = "p"}, {name = "q:0"}, {name = "total"}]}
  }
}
