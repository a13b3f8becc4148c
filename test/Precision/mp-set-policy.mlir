// RUN: mp-opt %s --mp-set-policy | FileCheck %s
// RUN: mp-opt %s --mp-set-policy="precision=fp16 deny=Relu allow-nodes=a,b strict=true" | FileCheck %s --check-prefix=SAID
// RUN: mp-opt %s --mp-set-policy=policy=%S/Inputs/nodes.yaml | FileCheck %s --check-prefix=FILE
// RUN: mp-opt %s --mp-set-policy=policy=%S/Inputs/nodes.yaml -o %t.mlir
// RUN: mp-opt %t.mlir | FileCheck %s --check-prefix=FILE

// What nobody says is not written.
// CHECK: mp.policy = #mp.policy<bf16>,
// SAID: mp.policy = #mp.policy<f16, {operators = {deny = {{\[\[}}"Relu", "--deny"]]}, precision = ["fp16", "--mixed-fp16"], rules = [
// SAID-SAME: {class = "allow", kind = "regex", place = "--allow-node", text = "a"}
// SAID-SAME: {class = "allow", kind = "regex", place = "--allow-node", text = "b"}
// SAID-SAME: ], strict = true}>

// All notions of a file, with their places; they are read again as they were.
// FILE: mp.policy = #mp.policy<bf16, {
// FILE-SAME: kind = "between", other = "{{[^"]*}}", place = "{{[^"]*}}nodes.yaml:{{[0-9]+}}"
// FILE-SAME: conditions = [{comparison = "{{[^"]*}}", is_list = {{true|false}}, place = "{{[^"]*}}nodes.yaml:{{[0-9]+}}", subject =
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %0 = "onnx.Relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32>
  }
}
