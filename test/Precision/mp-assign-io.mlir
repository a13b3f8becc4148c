// RUN: mp-opt %s --split-input-file --mp-set-policy="precision=fp16 io=fp16" \
// RUN:   --mp-set-io-types --mp-classify --mp-assign --mp-insert-casts \
// RUN:   --mp-simplify-casts --mp-convert-io --mp-convert-weights \
// RUN:   --mp-verify-precision | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-set-policy="precision=bf16 io=fp16" \
// RUN:   --mp-set-io-types --mp-classify --mp-assign --mp-insert-casts \
// RUN:   --mp-simplify-casts --mp-convert-io --mp-convert-weights \
// RUN:   --mp-verify-precision | FileCheck %s --check-prefix=MIXED

// No cast between an input or output in 16 bit and a node that is 16 bit. A
// denied reader needs one. A cache that is only moved needs none.
// CHECK-LABEL: @decoder
// CHECK: ^bb0(%[[X:.*]]: tensor<4x4xf16>, %[[PAST:.*]]: tensor<2x4xf16>):
// CHECK-NEXT: %[[P:.*]] = "onnx.MatMul"(%[[X]], %[[X]])
// CHECK-NEXT: %[[W:.*]] = "onnx.Cast"(%[[P]])
// CHECK-NEXT: %[[C:.*]] = "onnx.Concat"(%[[PAST]], %[[P]]) {axis = 0 : i64, onnx.results = ["present"]}
// CHECK-NEXT: %[[S:.*]] = "onnx.Softmax"(%[[W]]) {onnx.results = ["s_f32"]}
// CHECK-NEXT: %[[L:.*]] = "onnx.Cast"(%[[S]]) {{.*}}onnx.results = ["s"], to = 10
// CHECK-NEXT: onnx.yield %[[C]], %[[L]] : tensor<6x4xf16>, tensor<4x4xf16>

// Types of inputs and nodes that differ meet in one cast.
// MIXED-LABEL: @decoder
// MIXED: ^bb0(%[[X:.*]]: tensor<4x4xf16>, %[[PAST:.*]]: tensor<2x4xf16>):
// MIXED: %[[XLOW:.*]] = "onnx.Cast"(%[[X]]) {{.*}}to = 16
// MIXED-NEXT: %[[P:.*]] = "onnx.MatMul"(%[[XLOW]], %[[XLOW]]){{.*}}bf16>
// MIXED-NOT: "onnx.Cast"(%[[P]]){{.*}}to = 10
// MIXED: onnx.results = ["present"]
module @decoder attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>, %past: tensor<2x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) {onnx.results = ["p"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Concat"(%past, %0) {axis = 0 : i64, onnx.results = ["present"]} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
    %2 = "onnx.Softmax"(%0) {onnx.results = ["s"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1, %2 : tensor<6x4xf32>, tensor<4x4xf32> {onnx.inputs = [{name = "x"}, {name = "past"}]}
  }
}

// -----

// A cache that a loop carries is 16 bit from the input to the output.
// CHECK-LABEL: @loop
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<i1>, %[[CACHE:.*]]: tensor<4x4xf16>):
// CHECK-NOT: onnx.Cast
// CHECK: "onnx.Loop"(%{{.*}}, %{{.*}}, %[[CACHE]])
// CHECK-NOT: onnx.Cast
// CHECK: onnx.yield %{{.*}} : tensor<4x4xf16>
module @loop attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%n: tensor<i64>, %c: tensor<i1>, %cache: tensor<4x4xf32>):
    %0 = "onnx.Loop"(%n, %c, %cache) ({
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %state: tensor<4x4xf32>):
      %1 = "onnx.MatMul"(%state, %state) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %go, %1 : tensor<i1>, tensor<4x4xf32> {onnx.inputs = [{name = "i"}, {name = "go"}, {name = "state"}]}
    }) {onnx.regions = ["body"], onnx.results = ["next"]} : (tensor<i64>, tensor<i1>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0 : tensor<4x4xf32> {onnx.inputs = [{name = "n"}, {name = "c"}, {name = "cache"}]}
  }
}

// -----

// Sums with inputs in 16 bit are like other sums; a constant that is an output
// keeps its name.
// CHECK-LABEL: @residual
// CHECK: %[[K:.*]] = onnx.initializer "k" {{.*}} : tensor<4x4xf16>
// CHECK-NOT: onnx.Cast
// CHECK: %[[S:.*]] = "onnx.Add"(%{{.*}}) {onnx.results = ["y"]}{{.*}}xf16>
// CHECK-NEXT: onnx.yield %[[S]], %[[K]]
module @residual attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %k = onnx.initializer "k" dense<1.0> : tensor<4x4xf32> : tensor<4x4xf32>
    %0 = "onnx.MatMul"(%x, %x) {onnx.results = ["p"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Add"(%x, %0) {onnx.results = ["y"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1, %k : tensor<4x4xf32>, tensor<4x4xf32> {onnx.inputs = [{name = "x"}]}
  }
}
