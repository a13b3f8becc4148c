// RUN: mp-opt %s --mp-annotate-updates | FileCheck %s
// RUN: mp-opt %s --mp-annotate-updates --mp-set-policy="precision=bf16 allow=Mul,MatMul,If" --mp-classify \
// RUN:   | FileCheck %s --check-prefix=CLASS

// All that comes from a gradient's marker is the optimizer's; what captures it
// in a subgraph is, as a whole, with the nodes in it. A reason that is there
// already stays.
// CHECK-LABEL: module @step
// CHECK: "onnx.MatMul"(%w, %x) {onnx.results = ["dw"]}
// CHECK: %[[G:.*]] = mp.gradient %dw of %w {onnx.results
// CHECK: "onnx.Mul"(%[[G]], %rate) {mp.added, mp.hazard = #mp.hazard<"part of the optimizer's step">
// CHECK: "onnx.Sub"(%w, %{{.*}}) {mp.hazard = #mp.hazard<"another">
// CHECK: "onnx.Neg"(%[[G]]) {mp.added, mp.hazard = #mp.hazard<"part of the optimizer's step">, onnx.results = ["t"]}
// CHECK: {mp.added, mp.hazard = #mp.hazard<"part of the optimizer's step">, onnx.regions
// CHECK: mp.update %w to %{{.*}} {onnx.results
// CHECK: "onnx.Mul"(%x, %rate) {onnx.results = ["aside"]}

// No list moves them to 16 bit.
// CLASS: "onnx.MatMul"{{.*}}mp.class = #mp.class<allow
// CLASS: "onnx.Mul"{{.*}}mp.class = #mp.class<deny{{.*}}onnx.results = ["move"]
// CLASS: "onnx.Mul"{{.*}}mp.class = #mp.class<allow{{.*}}onnx.results = ["aside"]
module @step attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%w: tensor<4x4xf32>, %x: tensor<4x4xf32>, %rate: tensor<f32>, %c: tensor<i1>):
    %0 = "onnx.MatMul"(%w, %x) {onnx.results = ["dw"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = mp.gradient %0 of %w {onnx.results = ["w_grad"]} : tensor<4x4xf32>, tensor<4x4xf32>
    %2 = "onnx.Mul"(%1, %rate) {onnx.results = ["move"]} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
    %3 = "onnx.Sub"(%w, %2) {mp.hazard = #mp.hazard<"another">, onnx.results = ["next"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.If"(%c) ({
      %5 = "onnx.Neg"(%1) {onnx.results = ["t"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %5 : tensor<4x4xf32> {onnx.inputs = [], onnx.outputs = [{name = "t"}]}
    }, {
      %5 = "onnx.Neg"(%x) {onnx.results = ["e"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %5 : tensor<4x4xf32> {onnx.inputs = [], onnx.outputs = [{name = "e"}]}
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["chosen"]} : (tensor<i1>) -> tensor<4x4xf32>
    %6 = mp.update %w to %3 {onnx.results = ["w_new"]} : tensor<4x4xf32>
    %7 = "onnx.Mul"(%x, %rate) {onnx.results = ["aside"]} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
    onnx.yield %6, %4, %7 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32> {onnx.inputs = [{name = "w"}, {name = "x"}, {name = "rate"}, {name = "c"}], onnx.outputs = [{name = "w_new"}, {name = "chosen"}, {name = "aside"}]}
  }
}
