// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-differentiate="loss=loss wrt=x outputs=true" \
// RUN:   | FileCheck %s

// An If of the same condition with the gradients of each branch.

// A branch computes again what its gradient needs.
// CHECK-LABEL: module @branches
// CHECK: %[[GRAD:.*]] = "onnx.Expand"
// CHECK: %[[X:.*]] = "onnx.If"(%c)
// CHECK: "onnx.Sqrt"(%x)
// CHECK: "onnx.Div"(%[[GRAD]]
// CHECK: "onnx.Neg"(%[[GRAD]])
// CHECK: mp.gradient %[[X]] of %x
module @branches attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%c: tensor<i1>, %x: tensor<4xf32>):
    %t = "onnx.If"(%c) ({
      %a = "onnx.Sqrt"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      onnx.yield %a : tensor<4xf32> {onnx.inputs = [], onnx.outputs = [{name = "a"}]}
    }, {
      %b = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      onnx.yield %b : tensor<4xf32> {onnx.inputs = [], onnx.outputs = [{name = "b"}]}
    }) {onnx.name = "node", onnx.regions = ["then_branch", "else_branch"], onnx.results = ["t"]} : (tensor<i1>) -> tensor<4xf32>
    %0 = "onnx.ReduceSum"(%t) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    onnx.yield %0 : tensor<f32> {onnx.inputs = [{name = "c"}, {name = "x"}], onnx.outputs = [{name = "loss"}]}
  }
}
