// RUN: mp-opt %s --convert-onnx-to-linalg=excess-precision --split-input-file \
// RUN:   -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t
// RUN: mp-opt %s --convert-onnx-to-linalg --split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=DEFAULT

// Without the option, no product has an fp32 result, and there is no remark.
// DEFAULT-NOT: excess precision
// DEFAULT-NOT: outs({{.*}} : tensor<4x5xf32>)
// DEFAULT: kernel.contract {{.*}}bf16

// The product of 16-bit operands is stored in fp32, and the cast is gone.
// REMARK: remark: excess precision: 1 rounding is dropped: 'logits16' of node 'fc' (MatMul-13) to bf16
// CHECK-LABEL: module @drop_before_cast
// CHECK: %[[SUM:.*]] = kernel.contract
// CHECK-SAME: tensor<4x8xbf16>
// CHECK-SAME: tensor<8x5xbf16>
// CHECK-SAME: tensor<4x5xf32>
// CHECK-NOT: linalg.generic
// CHECK-NOT: arith.truncf
// CHECK: return %{{.*}} : tensor<4x5xf32>
module @drop_before_cast attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x8xbf16>, %w: tensor<8x5xbf16>):
    %0 = "onnx.MatMul"(%x, %w) {onnx.name = "fc", onnx.results = ["logits16"]} : (tensor<4x8xbf16>, tensor<8x5xbf16>) -> tensor<4x5xbf16>
    %1 = "onnx.Cast"(%0) {onnx.results = ["logits"], to = 1 : i64} : (tensor<4x5xbf16>) -> tensor<4x5xf32>
    onnx.yield %1 : tensor<4x5xf32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "logits"}]}
  }
}

// -----

// Movement passes on the sum; a bias and a scale are added to it unrounded.
// REMARK: remark: excess precision: 3 roundings are dropped: 'p' of node 'mm' (MatMul-13) to fp16, 'b' of node 'bias' (Add-14) to fp16, 's' of node 'scale' (Mul-14) to fp16
// CHECK-LABEL: module @drop_through_movement_bias_and_scale
// CHECK: kernel.contract
// CHECK-NOT: arith.truncf
// CHECK: return %{{.*}} : tensor<5x4xf32>
module @drop_through_movement_bias_and_scale attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x8xf16>, %w: tensor<8x5xf16>, %bias: tensor<5xf16>, %scale: tensor<f16>):
    %0 = "onnx.MatMul"(%x, %w) {onnx.name = "mm", onnx.results = ["p"]} : (tensor<4x8xf16>, tensor<8x5xf16>) -> tensor<4x5xf16>
    %1 = "onnx.Add"(%0, %bias) {onnx.name = "bias", onnx.results = ["b"]} : (tensor<4x5xf16>, tensor<5xf16>) -> tensor<4x5xf16>
    %2 = "onnx.Transpose"(%1) {onnx.name = "t", onnx.results = ["t"], perm = [1, 0]} : (tensor<4x5xf16>) -> tensor<5x4xf16>
    %3 = "onnx.Mul"(%2, %scale) {onnx.name = "scale", onnx.results = ["s"]} : (tensor<5x4xf16>, tensor<f16>) -> tensor<5x4xf16>
    %4 = "onnx.Relu"(%3) {onnx.name = "relu", onnx.results = ["r"]} : (tensor<5x4xf16>) -> tensor<5x4xf16>
    %5 = "onnx.Cast"(%4) {onnx.results = ["y"], to = 1 : i64} : (tensor<5x4xf16>) -> tensor<5x4xf32>
    onnx.yield %5 : tensor<5x4xf32> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "bias"}, {name = "scale"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A 16-bit reader, here Tanh, needs the rounded value, which all readers get.
// REMARK: remark: excess precision: no rounding is dropped, since 16-bit nodes or outputs read the 16-bit product
// CHECK-LABEL: module @keep_for_a_16_bit_reader
// CHECK: kernel.contract
// CHECK-SAME: tensor<4x5xbf16>
// CHECK: return %{{.*}}, %{{.*}} : tensor<4x5xf32>, tensor<4x5xbf16>
module @keep_for_a_16_bit_reader attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x8xbf16>, %w: tensor<8x5xbf16>):
    %0 = "onnx.MatMul"(%x, %w) {onnx.results = ["p"]} : (tensor<4x8xbf16>, tensor<8x5xbf16>) -> tensor<4x5xbf16>
    %1 = "onnx.Cast"(%0) {onnx.results = ["y"], to = 1 : i64} : (tensor<4x5xbf16>) -> tensor<4x5xf32>
    %2 = "onnx.Tanh"(%0) {onnx.results = ["z"]} : (tensor<4x5xbf16>) -> tensor<4x5xbf16>
    onnx.yield %1, %2 : tensor<4x5xf32>, tensor<4x5xbf16> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "y"}, {name = "z"}]}
  }
}

// -----

// A 16-bit output keeps its bits, and so does what movement makes of it.
// REMARK: remark: excess precision: no rounding is dropped, since 16-bit nodes or outputs read the 16-bit product
// CHECK-LABEL: module @keep_for_an_output
// CHECK: return %{{.*}}, %{{.*}} : tensor<4x5xf32>, tensor<20xbf16>
module @keep_for_an_output attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x8xbf16>, %w: tensor<8x5xbf16>):
    %flat = onnx.initializer "flat" dense<[-1]> : tensor<1xi64> : tensor<1xi64>
    %0 = "onnx.MatMul"(%x, %w) {onnx.results = ["p"]} : (tensor<4x8xbf16>, tensor<8x5xbf16>) -> tensor<4x5xbf16>
    %1 = "onnx.Cast"(%0) {onnx.results = ["y"], to = 1 : i64} : (tensor<4x5xbf16>) -> tensor<4x5xf32>
    %2 = "onnx.Reshape"(%0, %flat) {onnx.results = ["z"]} : (tensor<4x5xbf16>, tensor<1xi64>) -> tensor<20xbf16>
    onnx.yield %1, %2 : tensor<4x5xf32>, tensor<20xbf16> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "y"}, {name = "z"}]}
  }
}

// -----

// Movement of several operands needs all of them unrounded: one operand is an
// input, so that the product in the other is rounded as well.
// REMARK: remark: excess precision: no rounding is dropped
// CHECK-LABEL: module @keep_next_to_an_input
module @keep_next_to_an_input attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x8xbf16>, %w: tensor<8x5xbf16>, %c: tensor<4x5xbf16>):
    %0 = "onnx.MatMul"(%x, %w) {onnx.results = ["p"]} : (tensor<4x8xbf16>, tensor<8x5xbf16>) -> tensor<4x5xbf16>
    %1 = "onnx.Concat"(%0, %c) {axis = 0 : i64, onnx.results = ["both"]} : (tensor<4x5xbf16>, tensor<4x5xbf16>) -> tensor<8x5xbf16>
    %2 = "onnx.Cast"(%1) {onnx.results = ["y"], to = 1 : i64} : (tensor<8x5xbf16>) -> tensor<8x5xf32>
    onnx.yield %2 : tensor<8x5xf32> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "c"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Sums of 16-bit inputs are no products: they are rounded as before, without a
// note.
// REMARK-NOT: excess precision
// CHECK-LABEL: module @keep_without_a_product
// CHECK: arith.truncf
module @keep_without_a_product attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xbf16>, %y: tensor<4xbf16>):
    %0 = "onnx.Add"(%x, %y) {onnx.results = ["s"]} : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
    %1 = "onnx.Cast"(%0) {onnx.results = ["z"], to = 1 : i64} : (tensor<4xbf16>) -> tensor<4xf32>
    onnx.yield %1 : tensor<4xf32> {onnx.inputs = [{name = "x"}, {name = "y"}], onnx.outputs = [{name = "z"}]}
  }
}
