// RUN: mp-opt %s --mp-set-policy --mp-classify --mp-assign | FileCheck %s --check-prefix=CUT
// RUN: mp-opt %s --mp-set-policy=policy=%S/Inputs/first-operand.yaml --mp-classify --mp-assign | FileCheck %s --check-prefix=FIRST
// RUN: mp-opt %s --mp-set-policy=policy=%S/Inputs/min-saving.yaml --mp-classify --mp-assign | FileCheck %s --check-prefix=SAVING
// RUN: not mp-opt %s --mp-set-policy=policy=%S/Inputs/min-saving.yaml --mp-classify --mp-assign=min-saving=x 2>&1 | FileCheck %s --check-prefix=OWN

// The rule, and what a region must save, as the policy's file says them; an
// option of the pass comes first.
// CUT: mp.precision = #mp.precision<bf16, {{.*}}onnx.name = "before"
// FIRST: mp.policy = #mp.policy<bf16, {assign = ["first-operand", "{{.*}}first-operand.yaml:{{[0-9]+}}"]
// FIRST: mp.precision = #mp.precision<f32, reason = "its first operand is f32"{{.*}}onnx.name = "before"
// FIRST: mp.precision = #mp.precision<bf16, {{.*}}onnx.name = "fc"
// SAVING: mp.policy = #mp.policy<bf16, {dims = {{\[\[}}"n=8", {{.*}}]], min_saving = ["90", 
// SAVING: mp.precision = #mp.precision<f32, reason = "its region would save {{.*}}onnx.name = "fc"
// OWN: error: min-saving: expected a percentage, got 'x'
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>):
    %0 = "onnx.Relu"(%x) {onnx.name = "before", onnx.results = ["r"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%0, %w) {onnx.name = "fc", onnx.results = ["f"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Relu"(%1) {onnx.name = "after", onnx.results = ["y"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %2 : tensor<4x4xf32>
  }
}
