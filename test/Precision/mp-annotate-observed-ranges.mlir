// RUN: mp-opt %s --split-input-file --mp-annotate-observed-ranges=precision=fp16 \
// RUN:   | FileCheck %s
// RUN: mp-opt %s --split-input-file \
// RUN:   --mp-annotate-observed-ranges="precision=fp16 head-room=1 trust-data=true" \
// RUN:   | FileCheck %s --check-prefix=TRUST
// RUN: mp-opt %s --split-input-file --mp-annotate-observed-ranges=precision=bf16 \
// RUN:   | FileCheck %s --check-prefix=BF16

// A value beyond fp16 keeps its node fp32, and each node that reads it, also
// through data movement.
// BF16-LABEL: @reach
// BF16-NOT: mp.hazard
// CHECK-LABEL: @reach
// CHECK: "onnx.MatMul"{{.*}}mp.hazard = #mp.hazard<"its result reaches 1.2e+05 in the data; with head-room 2 it does not fit fp16">
// CHECK: "onnx.Flatten"{{.*}}mp.hazard = #mp.hazard<"its result reaches 1.2e+05 in the data
// CHECK: "onnx.Tanh"{{.*}}mp.hazard = #mp.hazard<"its operand 'f' reaches 1.2e+05 in the data
// CHECK: "onnx.Exp"
// CHECK-NOT: mp.hazard
module @reach attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph attributes {mp.observed_inputs = {x = array<f64: 4.0, 0.0, -1.0, -1.0>}} {
  ^bb0(%x: tensor<4x4xf32>):
    %w = onnx.initializer "w" dense<300.0> : tensor<4x4xf32> : tensor<4x4xf32>
    %0 = "onnx.MatMul"(%x, %w) {onnx.results = ["m"], mp.observed = array<f64: 1.2e5, 0.0, -1.0, -1.0>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Flatten"(%0) {onnx.results = ["f"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Tanh"(%1) {onnx.results = ["t"], mp.observed = array<f64: 1.0, 0.0, -1.0, -1.0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Exp"(%2) {onnx.results = ["e"], mp.observed = array<f64: 2.7, 0.0, -1.0, -1.0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %3 : tensor<4x4xf32> {onnx.inputs = [{name = "x"}]}
  }
}

// -----

// Head-room: 40000 fits as it is, and not with a factor of 2. Partial sums, lost
// energy and divisors have reasons of their own.
// BF16-LABEL: @reasons
// BF16-NOT: mp.hazard
// TRUST-LABEL: @reasons
// TRUST: "onnx.Relu"
// TRUST-NOT: mp.hazard
// TRUST-SAME: mp.observed
// CHECK-LABEL: @reasons
// CHECK: "onnx.Relu"{{.*}}mp.hazard = #mp.hazard<"its result reaches 4e+04 in the data
// CHECK: "onnx.ReduceMean"{{.*}}mp.hazard = #mp.hazard<"partial sums of it can reach 9e+04 in the data
// CHECK: "onnx.Tanh"{{.*}}mp.hazard = #mp.hazard<"its result would lose 0.5 % of its energy in the data to numbers below 6.1e-05, where fp16 flushes or loses digits">
// CHECK: "onnx.Abs"{{.*}}mp.hazard = #mp.hazard<"its result, which divides, goes down to 1e-07 in the data; fp16 is exact from 6.1e-05 on">
// CHECK: "onnx.Div"{{.*}}mp.hazard = #mp.hazard<"its divisor 'd' goes down to 1e-07 in the data
module @reasons attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["r"], mp.observed = array<f64: 4.0e4, 0.0, -1.0, -1.0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.ReduceMean"(%x) {onnx.results = ["s"], mp.observed = array<f64: 5.0, 0.0, -1.0, 9.0e4>} : (tensor<4x4xf32>) -> tensor<1x1xf32>
    %2 = "onnx.Tanh"(%x) {onnx.results = ["t"], mp.observed = array<f64: 1.0, 5.0e-3, -1.0, -1.0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Abs"(%x) {onnx.results = ["d"], mp.observed = array<f64: 1.0, 0.0, 1.0e-7, -1.0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.Div"(%x, %3) {onnx.results = ["q"], mp.observed = array<f64: 1.0, 0.0, -1.0, -1.0>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0, %1, %2, %4 : tensor<4x4xf32>, tensor<1x1xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// Data rule out what may happen, not what is certain, and only with trust-data.
// BF16-LABEL: @caution
// CHECK-LABEL: @caution
// CHECK: "onnx.Relu"{{.*}}mp.cautious, mp.hazard = #mp.hazard<"may be large">
// CHECK: "onnx.Sin"{{.*}}mp.hazard = #mp.hazard<"an angle">
// TRUST-LABEL: @caution
// TRUST: "onnx.Relu"
// TRUST-NOT: mp.hazard =
// TRUST-SAME: mp.harmless = #mp.hazard<"its result reaches only 12 in the data, so that no caution is needed (may be large)">
// TRUST: "onnx.Sin"{{.*}}mp.hazard = #mp.hazard<"an angle">
module @caution attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph attributes {mp.observed_inputs = {x = array<f64: 12.0, 0.0, -1.0, -1.0>}} {
  ^bb0(%x: tensor<4xf32>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["r"], mp.cautious, mp.hazard = #mp.hazard<"may be large">, mp.observed = array<f64: 12.0, 0.0, -1.0, -1.0>} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "onnx.Sin"(%0) {onnx.results = ["s"], mp.hazard = #mp.hazard<"an angle">, mp.observed = array<f64: 1.0, 0.0, -1.0, -1.0>} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %1 : tensor<4xf32> {onnx.inputs = [{name = "x"}]}
  }
}

// -----

// The result of an If is the value that a branch computes.
// CHECK-LABEL: @branches
// CHECK: "onnx.Mul"{{.*}}mp.hazard = #mp.hazard<"its result reaches 1e+05
// CHECK: "onnx.Relu"{{.*}}mp.hazard = #mp.hazard<"its result reaches 1e+05
// CHECK: }) {mp.hazard = #mp.hazard<"its result reaches 1e+05
module @branches attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%c: tensor<i1>, %x: tensor<4xf32>):
    %0 = "onnx.If"(%c) ({
      %1 = "onnx.Mul"(%x, %x) {onnx.results = ["a"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      onnx.yield %1 : tensor<4xf32>
    }, {
      %1 = "onnx.Relu"(%x) {onnx.results = ["b"]} : (tensor<4xf32>) -> tensor<4xf32>
      onnx.yield %1 : tensor<4xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["i"], mp.observed = array<f64: 1.0e5, 0.0, -1.0, -1.0>} : (tensor<i1>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32>
  }
}
