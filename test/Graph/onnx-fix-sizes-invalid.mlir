// RUN: mp-opt %s --onnx-fix-sizes=fixed=x=2 --verify-diagnostics -o /dev/null
// RUN: not mp-opt %s --onnx-fix-sizes=fixed=batch=two -o /dev/null 2>&1 | FileCheck %s
// RUN: not mp-opt %s --onnx-fix-sizes=fixed=bacth=2 -o /dev/null 2>&1 | FileCheck %s --check-prefix=NEAREST
// NEAREST: error: sizes to fix: no input is a whole number called 'bacth', or has an open dimension of that name; did you mean 'batch'?
// CHECK: error: sizes to fix: {{.*}}batch=two

module attributes {onnx.opset_import = [["", 18]]} {
  // expected-error @below {{sizes to fix: no input is a whole number called 'x', or has an open dimension of that name}}
  onnx.graph {
  ^bb0(%x: tensor<?xf32>):
    %y = "onnx.Exp"(%x) {onnx.results = ["y"]} : (tensor<?xf32>) -> tensor<?xf32>
    onnx.yield %y : tensor<?xf32> {onnx.inputs = [{name = "x", type = {tensor_type = {elem_type = 1 : i64, shape = {dim = [{dim_param = "batch"}]}}}}], onnx.outputs = [{name = "y"}]}
  }
}
