// RUN: mp-opt %s --split-input-file --mp-set-io-types=io=fp16 --mp-convert-io | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-set-io-types=io=fp32 --mp-convert-io | FileCheck %s --check-prefix=WIDE
// RUN: not mp-opt %s --split-input-file --mp-set-io-types=io=bf16 --mp-convert-io 2>&1 | FileCheck %s --check-prefix=OPSET
// RUN: mp-opt %s --split-input-file --mp-set-io-types=io=bf16 --onnx-raise-opset --mp-convert-io | FileCheck %s --check-prefix=RAISED

// One cast for all readers of an input, subgraphs among them; outputs keep
// their names; without a policy no mark is left.
// CHECK-LABEL: @readers
// CHECK-NOT: mp.
// CHECK: ^bb0(%[[X:.*]]: tensor<4xf16>, %{{.*}}: tensor<i1>):
// CHECK-NEXT: %[[UP:.*]] = "onnx.Cast"(%[[X]]) {onnx.name = "x_cast_f32", onnx.results = ["x_cast_f32"], to = 1 : i64}
// CHECK-NEXT: "onnx.If"
// CHECK: "onnx.Exp"(%[[UP]])
// CHECK: %[[Y:.*]] = "onnx.Add"(%{{.*}}, %[[UP]]) {onnx.results = ["y_f32"]}
// CHECK-NEXT: %[[LOW:.*]] = "onnx.Cast"(%[[Y]]) {onnx.name = "y_cast_fp16", onnx.results = ["y"], to = 10 : i64}
// CHECK-NEXT: %[[Z:.*]] = "onnx.Exp"(%[[Y]])
// CHECK: onnx.yield %[[LOW]], %{{.*}} : tensor<4xf16>, tensor<4xf16>
// WIDE-LABEL: @readers
// WIDE-NOT: onnx.Cast
// WIDE-LABEL: @own
// RAISED-LABEL: @readers
// RAISED: ^bb0(%[[X:.*]]: tensor<4xbf16>
module @readers attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>, %c: tensor<i1>):
    %0 = "onnx.If"(%c) ({
      %1 = "onnx.Exp"(%x) {onnx.results = ["a"]} : (tensor<4xf32>) -> tensor<4xf32>
      onnx.yield %1 : tensor<4xf32>
    }, {
      onnx.yield %x : tensor<4xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["b"]} : (tensor<i1>) -> tensor<4xf32>
    %2 = "onnx.Add"(%0, %x) {onnx.results = ["y"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = "onnx.Exp"(%2) {onnx.results = ["z"]} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %2, %3 : tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "x"}, {name = "c"}]}
  }
}

// -----

// The model's own Casts read the new type; an output that is an input keeps the
// name and has the type of the input.
// CHECK-LABEL: @own
// CHECK: ^bb0(%[[X:.*]]: tensor<4xf16>):
// CHECK-NEXT: %[[I:.*]] = "onnx.Cast"(%[[X]]) {onnx.results = ["i"], to = 7 : i64}
// CHECK-NEXT: onnx.yield %[[I]], %[[X]] : tensor<4xi64>, tensor<4xf16>
// OPSET: inputs and outputs in bf16 need a Cast that opset 12 does not have, expected opset 13 or later
// RAISED-LABEL: @own
// RAISED-SAME: onnx.opset_import = {{\[\[}}"", 13]]
// RAISED: ^bb0(%[[X:.*]]: tensor<4xbf16>):
// RAISED-NEXT: "onnx.Cast"(%[[X]])
module @own attributes {onnx.opset_import = [["", 12]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %0 = "onnx.Cast"(%x) {onnx.results = ["i"], to = 7 : i64} : (tensor<4xf32>) -> tensor<4xi64>
    onnx.yield %0, %x : tensor<4xi64>, tensor<4xf32> {onnx.inputs = [{name = "x"}]}
  }
}

// -----

// Inputs and outputs that come in 16 bit become fp32: the Cast after an input
// has nothing left to do. That before an output is the model's own and stays.
// WIDE-LABEL: @half
// WIDE: ^bb0(%[[X:.*]]: tensor<4xf32>, %[[H:.*]]: tensor<4xf32>):
// WIDE-NEXT: %[[LOW:.*]] = "onnx.Cast"(%[[H]]) {{.*}}to = 10
// WIDE-NEXT: %[[Y:.*]] = "onnx.Exp"(%[[X]])
// WIDE-NEXT: %[[R:.*]] = "onnx.Relu"(%[[LOW]]) {onnx.results = ["r_fp16"]}
// WIDE-NEXT: %[[OUT:.*]] = "onnx.Cast"(%[[R]]) {{.*}}onnx.results = ["r"], to = 1
// WIDE: onnx.yield %[[Y]], %[[OUT]]
module @half attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf16>, %h: tensor<4xf16>):
    %0 = "onnx.Cast"(%x) {onnx.results = ["w"], to = 1 : i64} : (tensor<4xf16>) -> tensor<4xf32>
    %1 = "onnx.Exp"(%0) {onnx.results = ["y"]} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.Relu"(%h) {onnx.results = ["r"]} : (tensor<4xf16>) -> tensor<4xf16>
    onnx.yield %1, %2 : tensor<4xf32>, tensor<4xf16> {onnx.inputs = [{name = "x"}, {name = "h"}]}
  }
}
