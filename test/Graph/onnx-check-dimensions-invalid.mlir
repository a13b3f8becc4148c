// RUN: mp-opt %s --split-input-file --onnx-check-dimensions=dims=bacth=2 --verify-diagnostics -o /dev/null
// RUN: not mp-opt %s --split-input-file --onnx-check-dimensions=dims=batch=two -o /dev/null 2>&1 | FileCheck %s
// CHECK: error: dimension 'batch=two': expected NAME=SIZE with a size of at least 1

// expected-error @below {{the model has no dimension 'bacth'; did you mean 'batch'?}}
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?xf32>):
    %y = "onnx.Exp"(%x) {onnx.results = ["y"]} : (tensor<?xf32>) -> tensor<?xf32>
    onnx.yield %y : tensor<?xf32> {onnx.inputs = [{name = "x", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "batch"}]}}}}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// expected-error @below {{the model has no dimension 'bacth': it has time, width}}
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x?xf32>):
    %y = "onnx.Exp"(%x) {onnx.results = ["y"]} : (tensor<?x?xf32>) -> tensor<?x?xf32>
    onnx.yield %y : tensor<?x?xf32> {onnx.inputs = [{name = "x", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "time"}, {dim_param = "width"}]}}}}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// expected-error @below {{the model has no dimension 'bacth': none of its dimensions has a name}}
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?xf32>):
    onnx.yield %x : tensor<?xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "x"}]}
  }
}
