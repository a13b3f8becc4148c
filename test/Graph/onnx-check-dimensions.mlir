// RUN: mp-opt %s --onnx-check-dimensions=dims=batch=2,length=4,kept=8 | FileCheck %s
// RUN: mp-opt %s --onnx-check-dimensions | FileCheck %s

// Inputs, outputs and described values have names, in subgraphs, too; nothing
// changes.
// CHECK: onnx.graph
// CHECK: "onnx.Exp"
// CHECK: dim_param = "batch"
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?xf32>, %which: tensor<i1>):
    %y = "onnx.If"(%which) ({
      %p = "onnx.Exp"(%x) {onnx.results = ["p"]} : (tensor<?xf32>) -> tensor<?xf32>
      onnx.yield %p : tensor<?xf32> {onnx.outputs = [{name = "p", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "kept"}]}}}}]}
    }, {
      onnx.yield %x : tensor<?xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["y"]} : (tensor<i1>) -> tensor<?xf32>
    onnx.yield %y : tensor<?xf32> {onnx.inputs = [{name = "x", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "batch"}]}}}}, {name = "which"}], onnx.outputs = [{name = "y", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "length"}]}}}}]}
  }
}
