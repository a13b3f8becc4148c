// RUN: mp-opt %s --mp-set-policy="deny-nodes=wanted allow-nodes=sure allow=Mul" --mp-classify \
// RUN:   | FileCheck %s
// RUN: mp-opt %s --mp-set-policy="allow-nodes=sure,wanted allow=LayerNormalization" --mp-classify \
// RUN:   | FileCheck %s --check-prefix=ALLOWED

// What the analyses have marked: a node's own override beats them, they beat
// the user's lists. A unit is asked for under the name of its op; allowed, its
// nodes have their own classes.
// CHECK-LABEL: @marks
// CHECK: "onnx.Mul"{{.*}}mp.class = #mp.class<deny, reason = "shape arithmetic"
// CHECK: "onnx.MatMul"{{.*}}mp.class = #mp.class<deny, reason = "accumulates too much"
// CHECK: "onnx.Add"{{.*}}mp.class = #mp.class<allow, reason = "node override"
// CHECK: "onnx.Sub"{{.*}}mp.class = #mp.class<deny, reason = "part of a decomposed LayerNormalization"
// CHECK: "onnx.ReduceMean"{{.*}}mp.class = #mp.class<deny, reason = "built-in list: sums of many terms, of which 16 bit loses small ones"
// CHECK: "onnx.Mul"{{.*}}mp.class = #mp.class<deny, reason = "part of a decomposed SoftmaxGrad_13"
// CHECK: "onnx.Div"{{.*}}mp.class = #mp.class<deny, reason = "node override"
// CHECK: "onnx.Exp"{{.*}}mp.class = #mp.class<follow, reason = "on no list"
// ALLOWED-LABEL: @marks
// ALLOWED: "onnx.Mul"{{.*}}mp.class = #mp.class<deny, reason = "shape arithmetic"
// ALLOWED: "onnx.Sub"{{.*}}mp.class = #mp.class<promote, reason = "built-in list"
// ALLOWED: "onnx.ReduceMean"{{.*}}mp.class = #mp.class<deny, reason = "built-in list: sums of many terms, of which 16 bit loses small ones"
// ALLOWED: "onnx.Div"{{.*}}mp.class = #mp.class<allow, reason = "node override"
module @marks attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.Mul"(%x, %x) {mp.shape_arithmetic} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%0, %x) {mp.hazard = #mp.hazard<"accumulates too much">} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Add"(%1, %x) {mp.hazard = #mp.hazard<"accumulates too much">, onnx.name = "sure"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Sub"(%2, %x) {mp.composite = #mp.composite<"LayerNormalization", 0>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.ReduceMean"(%3) {mp.composite = #mp.composite<"LayerNormalization", 0>} : (tensor<4x4xf32>) -> tensor<1x1xf32>
    %5 = "onnx.Mul"(%4, %x) {mp.composite = #mp.composite<"com.microsoft.SoftmaxGrad_13", 1>} : (tensor<1x1xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %6 = "onnx.Div"(%5, %x) {mp.composite = #mp.composite<"Sigmoid", 2>, onnx.name = "wanted"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %7 = "onnx.Exp"(%6) {mp.composite = #mp.composite<"Sigmoid", 2>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %7 : tensor<4x4xf32>
  }
}
