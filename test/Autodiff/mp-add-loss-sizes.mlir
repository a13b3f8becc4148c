// RUN: mp-opt %s --split-input-file \
// RUN:   --mp-add-loss="loss=softmax-cross-entropy class-axis=-1" -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: mp-opt %s --split-input-file --mp-add-loss=loss=mse -o %t
// RUN: FileCheck %s --input-file=%t --check-prefix=TARGET

// Labels have the names that the model gives to the sizes of the prediction, so
// that one --dim is for both.
// CHECK-LABEL: module @batch
// CHECK: %labels: tensor<?xi64>
// CHECK: {name = "labels", type = {tensor_type = {elem_type = 7 : i64, shape = {dim = [{dim_param = "batch"}]}}}}
// TARGET-LABEL: module @batch
// TARGET: {name = "labels", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "batch"}, {dim_value = 4 : i64}]}}}}
module @batch attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["y"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    onnx.yield %0 : tensor<?x4xf32> {onnx.inputs = [{name = "x", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "batch"}, {dim_value = 4 : i64}]}}}}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Of each token, too: the axis of the classes is left out, wherever it is.
// CHECK-LABEL: module @tokens
// CHECK: %labels: tensor<?x?xi64>
// CHECK: {name = "labels", {{.*}}dim = [{dim_param = "sequence"}, {dim_param = "batch"}]
module @tokens attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x?x4xf32>):
    %0 = "onnx.Transpose"(%x) {onnx.results = ["y"], perm = array<i64: 1, 0, 2>} : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
    onnx.yield %0 : tensor<?x?x4xf32> {onnx.inputs = [{name = "x", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "batch"}, {dim_param = "sequence"}, {dim_value = 4 : i64}]}}}}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Where inference does not follow, what the model says of its output counts, if
// an input says it, too.
// CHECK-LABEL: module @stated
// CHECK: {name = "labels", {{.*}}shape = {dim = [{dim_param = "batch"}, {}]}
module @stated attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>, %s: tensor<3xi64>):
    %0 = "onnx.Reshape"(%x, %s) {onnx.results = ["y"]} : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<?x?x4xf32>
    onnx.yield %0 : tensor<?x?x4xf32> {onnx.inputs = [{name = "x", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "batch"}, {dim_value = 4 : i64}]}}}}, {name = "s"}], onnx.outputs = [{name = "y", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "batch"}, {dim_param = "Reshapey_dim_1"}, {dim_value = 4 : i64}]}}}}]}
  }
}

// -----

// Names that say nothing are not taken over.
// CHECK-LABEL: module @unnamed
// CHECK: {name = "labels", {{.*}}shape = {dim = [{}]}
module @unnamed attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["y"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    onnx.yield %0 : tensor<?x4xf32> {onnx.inputs = [{name = "x", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "?"}, {dim_value = 4 : i64}]}}}}], onnx.outputs = [{name = "y"}]}
  }
}
