// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify --mp-fold-quantized-casts | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify --mp-fold-quantized-casts=keep-quantized-f32=true | FileCheck %s --check-prefix=KEPT
// RUN: mp-opt %s --split-input-file --mp-set-policy=deny=DequantizeLinear,QuantizeLinear --mp-classify --mp-fold-quantized-casts | FileCheck %s --check-prefix=KEPT

// Casts on both sides of a pair are gone; both nodes share one scale.
// CHECK-LABEL: @both_sides
// CHECK: %[[S:.*]] = onnx.initializer "s_fp16" dense<2.500000e-01> : tensor<f16>
// CHECK-NOT: onnx.Cast
// CHECK: "onnx.QuantizeLinear"(%{{.*}}, %[[S]]){{.*}}(tensor<4x4xf16>, tensor<f16>) -> tensor<4x4xui8>
// CHECK-NEXT: %[[D:.*]] = "onnx.DequantizeLinear"(%{{.*}}, %[[S]]){{.*}} -> tensor<4x4xf16>
// CHECK-NEXT: "onnx.MatMul"(%[[D]], %[[D]])
// KEPT-LABEL: @both_sides
// KEPT: "onnx.Cast"
// KEPT: "onnx.QuantizeLinear"
// KEPT: "onnx.DequantizeLinear"
// KEPT: "onnx.Cast"
module @both_sides attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf16>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %0 = "onnx.Cast"(%x) {onnx.results = ["w"], to = 1 : i64} : (tensor<4x4xf16>) -> tensor<4x4xf32>
    %1 = "onnx.QuantizeLinear"(%0, %s) {onnx.results = ["q"]} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xui8>
    %2 = "onnx.DequantizeLinear"(%1, %s) {onnx.results = ["d"]} : (tensor<4x4xui8>, tensor<f32>) -> tensor<4x4xf32>
    %3 = "onnx.Cast"(%2) {onnx.results = ["h"], to = 10 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf16>
    %4 = "onnx.MatMul"(%3, %3) {onnx.results = ["m"]} : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
    onnx.yield %4 : tensor<4x4xf16>
  }
}

// -----

// An fp32 user keeps the fp32 node; a bias becomes a constant.
// CHECK-LABEL: @copied
// CHECK: onnx.initializer "b_constant" dense<[2.500000e-01, 5.000000e-01, 7.500000e-01, 1.000000e+00]> : tensor<4xf16>
// CHECK: %[[D:.*]] = "onnx.DequantizeLinear"{{.*}}onnx.results = ["d"]{{.*}} -> tensor<4x4xf32>
// CHECK-NEXT: %[[H:.*]] = "onnx.DequantizeLinear"{{.*}}onnx.results = ["d_fp16"]{{.*}} -> tensor<4x4xf16>
// CHECK-NEXT: "onnx.Gemm"(%[[H]], %[[H]], %{{.*}}) {{.*}}tensor<4xf16>
module @copied attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %n = onnx.initializer "n" dense<[1, 2, 3, 4]> : tensor<4xi32> : tensor<4xi32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.Cast"(%0) {onnx.results = ["h"], to = 10 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf16>
    %2 = "onnx.DequantizeLinear"(%n, %s) {onnx.results = ["b"]} : (tensor<4xi32>, tensor<f32>) -> tensor<4xf32>
    %3 = "onnx.Cast"(%2) {onnx.results = ["c"], to = 10 : i64} : (tensor<4xf32>) -> tensor<4xf16>
    %4 = "onnx.Gemm"(%1, %1, %3) {onnx.results = ["m"]} : (tensor<4x4xf16>, tensor<4x4xf16>, tensor<4xf16>) -> tensor<4x4xf16>
    onnx.yield %4, %0 : tensor<4x4xf16>, tensor<4x4xf32>
  }
}

// -----

// These stay: a scale that fp16 would lose, and an opset that does not admit it.
// CHECK-LABEL: @small_scale
// CHECK: "onnx.DequantizeLinear"{{.*}} -> tensor<4x4xf32>
// CHECK-NEXT: "onnx.Cast"
module @small_scale attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>):
    %s = onnx.initializer "s" dense<1.0e-6> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.Cast"(%0) {onnx.results = ["h"], to = 10 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf16>
    %2 = "onnx.MatMul"(%1, %1) {onnx.results = ["m"]} : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
    onnx.yield %2 : tensor<4x4xf16>
  }
}

// -----

// CHECK-LABEL: @old_opset
// CHECK: "onnx.Cast"
// CHECK: "onnx.QuantizeLinear"
// CHECK: "onnx.DequantizeLinear"
// CHECK: "onnx.Cast"
module @old_opset attributes {onnx.opset_import = [["", 13]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf16>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %0 = "onnx.Cast"(%x) {onnx.results = ["w"], to = 1 : i64} : (tensor<4x4xf16>) -> tensor<4x4xf32>
    %1 = "onnx.QuantizeLinear"(%0, %s) {onnx.results = ["q"]} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xui8>
    %2 = "onnx.DequantizeLinear"(%1, %s) {onnx.results = ["d"]} : (tensor<4x4xui8>, tensor<f32>) -> tensor<4x4xf32>
    %3 = "onnx.Cast"(%2) {onnx.results = ["h"], to = 10 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf16>
    %4 = "onnx.MatMul"(%3, %3) {onnx.results = ["m"]} : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
    onnx.yield %4 : tensor<4x4xf16>
  }
}

// -----

// From opset 23 on, output_dtype gives the type if the scale cannot.
// CHECK-LABEL: @own_scale
// CHECK: "onnx.DequantizeLinear"{{.*}}output_dtype = 10 : i64{{.*}} -> tensor<4x4xf16>
// CHECK-NEXT: "onnx.MatMul"
module @own_scale attributes {onnx.opset_import = [["", 23]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>):
    %s = onnx.initializer "s" dense<1.0e-6> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.Cast"(%0) {onnx.results = ["h"], to = 10 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf16>
    %2 = "onnx.MatMul"(%1, %1) {onnx.results = ["m"]} : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
    onnx.yield %2 : tensor<4x4xf16>
  }
}
