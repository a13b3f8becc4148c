// RUN: mp-opt %s --split-input-file --mp-classify --onnx-raise-opset | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-classify=precision=fp16 --onnx-raise-opset \
// RUN:   | FileCheck %s --check-prefix=FP16
// RUN: mp-opt %s --split-input-file --onnx-raise-opset=to=18 \
// RUN:   | FileCheck %s --check-prefix=TO

// Convolutions admit bf16 from opset 22 on. Attributes and inputs that later
// versions added mean the old behaviour where they are absent.
// CHECK: module @conv attributes {{.*}}onnx.model = {ir_version = 10 : i64}, onnx.opset_import = {{\[}}["", 22], ["my", 1]]
// FP16: module @conv attributes {{.*}}onnx.model = {ir_version = 8 : i64}, onnx.opset_import = {{\[}}["", 13], ["my", 1]]
// TO: module @conv attributes {{.*}}onnx.model = {ir_version = 8 : i64}, onnx.opset_import = {{\[}}["", 18], ["my", 1]]
module @conv attributes {onnx.model = {ir_version = 8 : i64}, onnx.opset_import = [["", 13], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x1x1xf32>, %s: tensor<4xi64>, %p: tensor<8xi64>):
    %0 = "onnx.Conv"(%x, %w) : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
    %1 = "onnx.Reshape"(%0, %s) : (tensor<1x1x4x4xf32>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
    %2 = "onnx.Pad"(%1, %p) : (tensor<?x?x?x?xf32>, tensor<8xi64>) -> tensor<?x?x?x?xf32>
    %3 = "onnx.Shape"(%2) : (tensor<?x?x?x?xf32>) -> tensor<4xi64>
    %4 = "onnx.ReduceMax"(%2) : (tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
    %5 = onnx.custom "my" "Frob" (%4) : (tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
    onnx.yield %3, %5 : tensor<4xi64>, tensor<?x?x?x?xf32>
  }
}

// -----

// MatMul admits bf16 at 13 already; a denied node needs nothing.
// CHECK: module @not_needed attributes {{.*}}onnx.opset_import = {{\[}}["", 17]]
module @not_needed attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.InstanceNormalization"(%0, %0, %0) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1 : tensor<4x4xf32>
  }
}

// -----

// A function whose nodes would differ from the model's is raised with it, one
// whose nodes are the same is not.
// CHECK: module @functions attributes {{.*}}onnx.opset_import = {{\[}}["", 22], ["my", 1]]
// CHECK: onnx.function "my" "Raised" attributes {onnx.opset_import = {{\[}}["", 22]]}
// CHECK: onnx.function "my" "Same" attributes {onnx.opset_import = {{\[}}["", 17]]}
module @functions attributes {onnx.opset_import = [["", 17], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>):
    %0 = "onnx.Conv"(%x, %x) : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x1x1xf32>
    onnx.yield %0 : tensor<1x1x1x1xf32>
  }
  onnx.function "my" "Raised" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%a: !onnx.unknown):
    %0 = "onnx.MaxPool"(%a) {kernel_shape = array<i64: 1, 1>} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "my" "Same" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%a: !onnx.unknown):
    %0 = "onnx.Relu"(%a) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}
