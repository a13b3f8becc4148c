// RUN: mp-opt %s --mp-classify="deny-nodes=wanted allow-nodes=sure allow=Mul" \
// RUN:   | FileCheck %s
// RUN: mp-opt %s --mp-classify="allow-nodes=sure,wanted allow=LayerNormalization" \
// RUN:   | FileCheck %s --check-prefix=ALLOWED

// What the analyses have marked: a node's own override beats them, they beat
// the user's lists. A unit is asked for under the name of its op; allowed, its
// nodes have their own classes.
// CHECK-LABEL: @marks
// CHECK: "onnx.Mul"{{.*}}mp.class = "deny"{{.*}}mp.reason = "shape arithmetic"
// CHECK: "onnx.MatMul"{{.*}}mp.class = "deny"{{.*}}mp.reason = "accumulates too much"
// CHECK: "onnx.Add"{{.*}}mp.class = "allow"{{.*}}mp.reason = "node override"
// CHECK: "onnx.Sub"{{.*}}mp.class = "deny"{{.*}}mp.reason = "part of a decomposed LayerNormalization"
// CHECK: "onnx.ReduceMean"{{.*}}mp.class = "deny"{{.*}}mp.reason = "built-in list"
// CHECK: "onnx.Mul"{{.*}}mp.class = "deny"{{.*}}mp.reason = "part of a decomposed SoftmaxGrad_13"
// CHECK: "onnx.Div"{{.*}}mp.class = "deny"{{.*}}mp.reason = "node override"
// CHECK: "onnx.Exp"{{.*}}mp.class = "follow"{{.*}}mp.reason = "on no list"
// ALLOWED-LABEL: @marks
// ALLOWED: "onnx.Mul"{{.*}}mp.class = "deny"{{.*}}mp.reason = "shape arithmetic"
// ALLOWED: "onnx.Sub"{{.*}}mp.class = "promote"{{.*}}mp.reason = "built-in list"
// ALLOWED: "onnx.ReduceMean"{{.*}}mp.class = "deny"{{.*}}mp.reason = "built-in list"
// ALLOWED: "onnx.Div"{{.*}}mp.class = "allow"{{.*}}mp.reason = "node override"
module @marks attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.Mul"(%x, %x) {mp.shape} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%0, %x) {mp.hazard = "accumulates too much"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Add"(%1, %x) {mp.hazard = "accumulates too much", onnx.name = "sure"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Sub"(%2, %x) {mp.unit = "LayerNormalization", mp.unit_number = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.ReduceMean"(%3) {mp.unit = "LayerNormalization", mp.unit_number = 0 : i64} : (tensor<4x4xf32>) -> tensor<1x1xf32>
    %5 = "onnx.Mul"(%4, %x) {mp.unit = "com.microsoft.SoftmaxGrad_13", mp.unit_number = 1 : i64} : (tensor<1x1xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %6 = "onnx.Div"(%5, %x) {mp.unit = "Sigmoid", mp.unit_number = 2 : i64, onnx.name = "wanted"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %7 = "onnx.Exp"(%6) {mp.unit = "Sigmoid", mp.unit_number = 2 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %7 : tensor<4x4xf32>
  }
}
