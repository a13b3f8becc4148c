// RUN: mp-opt %s --onnx-fix-sizes=fixed=batch=2,time=4,rate=16000 --onnx-fold-constants | FileCheck %s

// All dimensions of a name have the size; a number is a constant, though the
// caller still gives one. What follows is known to the nodes behind.
// CHECK: ^bb0(%{{.*}}: tensor<2x4xf32>, %{{.*}}: tensor<3x2xf32>, %{{.*}}: tensor<i64>, %{{.*}}: tensor<?xf32>)
// CHECK-NOT: onnx.If
// CHECK: "onnx.Exp"{{.*}} -> tensor<2x4xf32>
// CHECK-NOT: onnx.If
// CHECK: "onnx.Neg"{{.*}} -> tensor<2x4xf32>
// CHECK: onnx.inputs = [{name = "x", {{.*}}dim = [{dim_value = 2 : i64}, {dim_value = 4 : i64}]{{.*}}dim = [{dim_value = 3 : i64}, {dim_value = 2 : i64}]{{.*}}dim_param = "other"
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x?xf32>, %h: tensor<3x?xf32>, %r: tensor<i64>, %o: tensor<?xf32>):
    %rate = "onnx.Constant"() {value_int = 16000 : i64, onnx.results = ["c"]} : () -> tensor<i64>
    %two = "onnx.Constant"() {value_int = 8 : i64, onnx.results = ["d"]} : () -> tensor<i64>
    %e = "onnx.Equal"(%r, %rate) {onnx.results = ["e"]} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %y = "onnx.If"(%e) ({
      %p = "onnx.Exp"(%x) {onnx.results = ["p"]} : (tensor<?x?xf32>) -> tensor<?x?xf32>
      onnx.yield %p : tensor<?x?xf32>
    }, {
      %n = "onnx.Sin"(%x) {onnx.results = ["n"]} : (tensor<?x?xf32>) -> tensor<?x?xf32>
      onnx.yield %n : tensor<?x?xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["y"]} : (tensor<i1>) -> tensor<?x?xf32>
    %s = "onnx.Size"(%y) {onnx.results = ["s"]} : (tensor<?x?xf32>) -> tensor<i64>
    %f = "onnx.Less"(%s, %two) {onnx.results = ["f"]} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %z = "onnx.If"(%f) ({
      %p = "onnx.Cos"(%y) {onnx.results = ["q"]} : (tensor<?x?xf32>) -> tensor<?x?xf32>
      onnx.yield %p : tensor<?x?xf32>
    }, {
      %n = "onnx.Neg"(%y) {onnx.results = ["m"]} : (tensor<?x?xf32>) -> tensor<?x?xf32>
      onnx.yield %n : tensor<?x?xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["z"]} : (tensor<i1>) -> tensor<?x?xf32>
    onnx.yield %z : tensor<?x?xf32> {onnx.inputs = [{name = "x", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "batch"}, {dim_param = "time"}]}}}}, {name = "h", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_value = 3 : i64}, {dim_param = "batch"}]}}}}, {name = "rate"}, {name = "o", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "other"}]}}}}], onnx.outputs = [{name = "z"}]}
  }
}
