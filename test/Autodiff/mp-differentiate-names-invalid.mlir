// RUN: not mp-opt %s --mp-differentiate 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LOSS
// RUN: not mp-opt %s --mp-differentiate=loss=loss 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NOTHING
// RUN: not mp-opt %s --mp-differentiate="loss=loss wrt=q" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME
// RUN: not mp-opt %s --mp-differentiate="loss=loss wrt=integers" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=INTEGERS

// LOSS: error: there is no loss to differentiate
// NOTHING: error: there is nothing to differentiate with respect to: mp-select-parameters comes first
// NAME: error: 'q' cannot be differentiated with respect to: the graph has no value of this name
// INTEGERS: error: 'integers' cannot be differentiated with respect to: expected a float tensor, got 'tensor<4xi64>'
module @names attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %0 = "onnx.Mul"(%x, %x) {onnx.results = ["m"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = "onnx.ReduceSum"(%0) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    %2 = "onnx.Cast"(%x) {to = 7 : i64, onnx.results = ["integers"]} : (tensor<4xf32>) -> tensor<4xi64>
    onnx.yield %1, %2 : tensor<f32>, tensor<4xi64> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "loss"}, {name = "integers"}]}
  }
}
