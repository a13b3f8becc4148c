// RUN: mp-opt %s --split-input-file --mp-mixed-precision="precision=fp16 raise-opset=false" | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-mixed-precision="precision=fp16 raise-opset=false keep-quantized-f32=true" | FileCheck %s --check-prefix=KEPT
// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify --mp-assign=own-scales=true --mp-insert-casts --mp-convert-weights --mp-verify-precision | FileCheck %s --check-prefix=OWN
// KEPT-NOT: f16

// A user of each type has a DequantizeLinear of its own; no cast falls between.
// The scale is stored in both types.
// CHECK-LABEL: @copied
// CHECK-DAG: %[[S:.*]] = onnx.initializer "s" {{.*}} : tensor<f32>
// CHECK-DAG: %[[SL:.*]] = onnx.initializer "s_cast_fp16" {{.*}} : tensor<f16>
// CHECK: %[[D:.*]] = "onnx.DequantizeLinear"(%{{.*}}, %[[S]]) {onnx.name = "dq", onnx.results = ["d"]}{{.*}} -> tensor<4x4xf32>
// CHECK-NEXT: %[[DL:.*]] = "onnx.DequantizeLinear"(%{{.*}}, %[[SL]]) {onnx.name = "dq_fp16", onnx.results = ["d_fp16"]}{{.*}} -> tensor<4x4xf16>
// CHECK: "onnx.MatMul"(%{{.*}}, %[[DL]])
// CHECK: "onnx.Softmax"(%[[D]])
module @copied attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>, %f: tensor<4x4xf32>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.name = "dq", onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%f, %0) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Softmax"(%0) {onnx.results = ["p"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// An int32 constant, here with a scale for each element, becomes a constant.
// CHECK-LABEL: @bias
// CHECK-NOT: i32
// CHECK: %[[B:.*]] = onnx.initializer "b_constant" dense<[5.000000e-01, -1.000000e+00, 1.500000e+00, 0.000000e+00]> : tensor<4xf16>
// CHECK-NOT: "onnx.DequantizeLinear"(%{{.*}}i32
// CHECK: "onnx.Gemm"(%{{.*}}, %{{.*}}, %[[B]])
module @bias attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>, %f: tensor<4x4xf32>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %n = onnx.initializer "n" dense<[1, -4, 3, 0]> : tensor<4xi32> : tensor<4xi32>
    %p = onnx.initializer "p" dense<[0.5, 0.25, 0.5, 1.0e-9]> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.DequantizeLinear"(%n, %p) {axis = 0 : i64, onnx.results = ["b"]} : (tensor<4xi32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.Gemm"(%f, %0, %1) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    onnx.yield %2 : tensor<4x4xf32>
  }
}

// -----

// From opset 23 on, scales that fp16 holds are fp16; with own scales, others
// stay fp32, and output_dtype says the type.
// CHECK-LABEL: @own_scale
// CHECK: "onnx.MatMul"{{.*}} -> tensor<4x4xf32>
// OWN-LABEL: @own_scale
// OWN-DAG: onnx.initializer "s" {{.*}} : tensor<f16>
// OWN-DAG: %[[P:.*]] = onnx.initializer "p" {{.*}} : tensor<f32>
// OWN: "onnx.DequantizeLinear"(%{{.*}}) {onnx.results = ["d"]}{{.*}}tensor<f16>) -> tensor<4x4xf16>
// OWN: "onnx.DequantizeLinear"(%{{.*}}, %[[P]]) {onnx.results = ["e"], output_dtype = 10 : i64}{{.*}} -> tensor<4x4xf16>
module @own_scale attributes {onnx.opset_import = [["", 23]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %p = onnx.initializer "p" dense<1.0e-6> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"], output_dtype = 1 : i64} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.DequantizeLinear"(%x, %p) {onnx.results = ["e"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %2 = "onnx.MatMul"(%0, %1) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %2 : tensor<4x4xf32>
  }
}

// -----

// The scale of a scale follows the same rules, from opset 19 on.
// CHECK-LABEL: @nested
// CHECK: "onnx.DequantizeLinear"{{.*}}tensor<f16>) -> tensor<4xf16>
// CHECK: "onnx.DequantizeLinear"{{.*}}tensor<4xf16>) -> tensor<4x4xf16>
// CHECK-NOT: onnx.Cast"{{.*}}tensor<4xf32>
module @nested attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>, %f: tensor<4x4xf32>, %i: tensor<4xi8>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%i, %s) {onnx.results = ["c"]} : (tensor<4xi8>, tensor<f32>) -> tensor<4xf32>
    %1 = "onnx.DequantizeLinear"(%x, %0) {axis = 1 : i64, onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.MatMul"(%f, %1) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %2 : tensor<4x4xf32>
  }
}

// -----

// Movement between the two is copied, too.
// CHECK-LABEL: @moved
// CHECK: %[[D:.*]] = "onnx.DequantizeLinear"{{.*}}onnx.results = ["d"]
// CHECK-NEXT: %[[DL:.*]] = "onnx.DequantizeLinear"{{.*}}onnx.results = ["d_fp16"]
// CHECK-NEXT: %[[T:.*]] = "onnx.Transpose"(%[[D]])
// CHECK-NEXT: %[[TL:.*]] = "onnx.Transpose"(%[[DL]]) {{.*}}onnx.results = ["t_fp16"]
// CHECK: "onnx.MatMul"(%{{.*}}, %[[TL]])
// CHECK: "onnx.Softmax"(%[[T]])
module @moved attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>, %f: tensor<4x4xf32>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.Transpose"(%0) {onnx.results = ["t"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.MatMul"(%f, %1) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Softmax"(%1) {onnx.results = ["p"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}
