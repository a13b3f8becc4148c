// RUN: mp-opt %s --mp-verify-precision=keep-marks=true | FileCheck %s
// RUN: mp-opt %s --mp-verify-precision --remarks-filter=mp-precision --remark-format=emitRemark --verify-diagnostics -o /dev/null

// The marks of the passes stay for who asks for them; every cast that is left
// is explained.
// CHECK: module attributes {mp.policy = #mp.policy<bf16>, mp.summary = {
module attributes {mp.policy = #mp.policy<bf16>, onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    // CHECK: "onnx.Cast"{{.*}}mp.inserted
    // expected-remark@below {{[Analysis] cast | Category:mp-precision | Bytes=96, From=f32, Reason="wanted by node 'mm' (MatMul-13) and 1 more", To=bf16, Value=x}}
    %0 = "onnx.Cast"(%x) {mp.inserted, to = 16 : i64} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    // CHECK: "onnx.MatMul"{{.*}}mp.class = #mp.class<allow{{.*}}>, mp.precision = #mp.precision<bf16
    %1 = "onnx.MatMul"(%0, %0) {mp.class = #mp.class<allow>, mp.precision = #mp.precision<bf16>, onnx.name = "mm", onnx.results = ["h"]} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
    // expected-remark@below {{Reason="wanted by an output of the graph", To=f32, Value=h}}
    %2 = "onnx.Cast"(%1) {mp.inserted, to = 1 : i64, onnx.results = ["y"]} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
    onnx.yield %2 : tensor<4x4xf32> {onnx.inputs = [{name = "x"}]}
  }
}
