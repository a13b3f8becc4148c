// RUN: mp-opt %s --onnx-specialize-functions=limit=14 | FileCheck %s
// RUN: mp-opt %s --onnx-specialize-functions | FileCheck %s --check-prefix=ALL
// RUN: mp-opt %s --onnx-specialize-functions=limit=4 \
// RUN:   --remarks-filter=mp-precision --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LEAST

// Every function calls the next one twice, so all clones together have 3 + 6 +
// 12 + 8 nodes. Two calls of @C (7 nodes each) fit into 14; above them clones
// are shared.
// CHECK: "loc" "A"(%{{.*}}) {{.*}}mp.callee = "A_1"
// CHECK: onnx.function "loc" "A_1"
// CHECK: "loc" "B"(%{{.*}}) {{.*}}mp.callee = "B_1"
// CHECK: "loc" "B"(%{{.*}}) {{.*}}mp.callee = "B_1"
// CHECK-NOT: onnx.function "loc" "B_2"
// CHECK: onnx.function "loc" "B_1"
// CHECK: "loc" "C"(%{{.*}}) {{.*}}mp.callee = "C_1"
// CHECK: "loc" "C"(%{{.*}}) {{.*}}mp.callee = "C_2"
// CHECK-NOT: onnx.function "loc" "C_3"

// ALL: onnx.function "loc" "A_1"
// ALL: onnx.function "loc" "B_2"
// ALL: onnx.function "loc" "C_4"
// ALL: onnx.function "loc" "D_8"

// LEAST: remark: {{.*}}Node="node 'c1' (loc.C)", Reason="function call: the limit of nodes in functions is reached"
// LEAST: remark: {{.*}}Node="node 'c2' (loc.C)"
// LEAST: onnx.function "loc" "A_1"
// LEAST: onnx.function "loc" "B_1"
// LEAST-NOT: "loc" "C_1"
module attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %0 = onnx.custom "loc" "A"(%x) : (tensor<4xf32>) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "A" {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "B"(%p) : (!onnx.unknown) -> !onnx.unknown
    %1 = onnx.custom "loc" "B"(%p) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %1 : !onnx.unknown
  }
  onnx.function "loc" "B" {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "C"(%p) attributes {onnx.name = "c1"} : (!onnx.unknown) -> !onnx.unknown
    %1 = onnx.custom "loc" "C"(%p) attributes {onnx.name = "c2"} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %1 : !onnx.unknown
  }
  onnx.function "loc" "C" {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "D"(%p) : (!onnx.unknown) -> !onnx.unknown
    %1 = onnx.custom "loc" "D"(%0) : (!onnx.unknown) -> !onnx.unknown
    %2 = "onnx.Exp"(%1) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %2 : !onnx.unknown
  }
  onnx.function "loc" "D" {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Exp"(%p) : (!onnx.unknown) -> !onnx.unknown
    %1 = "onnx.Sin"(%0) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %1 : !onnx.unknown
  }
}
