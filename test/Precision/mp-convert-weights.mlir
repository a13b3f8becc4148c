// RUN: mp-opt %s --split-input-file --mlir-elide-elementsattrs-if-larger=64 --mp-convert-weights=max-weight-copy=0 \
// RUN:   | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-convert-weights=max-weight-copy=4 \
// RUN:   | FileCheck %s --check-prefix=COPY

// Rounded to nearest even: 1 + 2^-8 is a tie, 1 + 3 * 2^-8 the other one.
// CHECK-LABEL: @small
// CHECK-SAME: mp.casts_removed = 2
// CHECK: %[[W:.*]] = onnx.initializer "w" dense<[1.000000e+00, 1.015630e+00]> : tensor<2xbf16> : tensor<2xbf16>
// CHECK-NEXT: %[[C:.*]] = "onnx.Constant"() {value = dense<1.000000e+00> : tensor<bf16>} : () -> tensor<bf16>
// CHECK-NEXT: onnx.yield %[[W]], %[[C]]
module @small attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
    %w = onnx.initializer "w" dense<[1.00390625, 1.01171875]> : tensor<2xf32> : tensor<2xf32>
    %0 = "onnx.Cast"(%w) {mp.inserted, to = 16 : i64} : (tensor<2xf32>) -> tensor<2xbf16>
    %c = "onnx.Constant"() {value_float = 1.0 : f32} : () -> tensor<f32>
    %1 = "onnx.Cast"(%c) {mp.inserted, to = 16 : i64} : (tensor<f32>) -> tensor<bf16>
    onnx.yield %0, %1 : tensor<2xbf16>, tensor<bf16>
  }
}

// -----

// Big constants are converted while they are written.
// CHECK-LABEL: @big
// CHECK: onnx.initializer "w" #onnx.cast_elements<dense_resource<w> : tensor<2xf32>> : tensor<2xf16>
module @big attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
    %w = onnx.initializer "w" dense_resource<w> : tensor<2xf32> : tensor<2xf32>
    %0 = "onnx.Cast"(%w) {mp.inserted, to = 10 : i64} : (tensor<2xf32>) -> tensor<2xf16>
    onnx.yield %0 : tensor<2xf16>
  }
}

{-# dialect_resources: { builtin: { w: "0x040000000000803F0000803F" } } #-}

// -----

// What f32 nodes use as well, what defaults a graph input, what a training
// algorithm names, and the model's own casts: all stay.
// A small one that f32 nodes use as well is stored twice, if that is asked for.
// COPY-LABEL: @kept
// COPY: onnx.initializer "shared"{{.*}} : tensor<2xf32>
// COPY-NEXT: onnx.initializer "shared_low"{{.*}} : tensor<2xbf16>
// COPY-COUNT-3: "onnx.Cast"
// COPY-NOT: "onnx.Cast"
// COPY-LABEL: @legality
// CHECK-LABEL: @kept
// CHECK: onnx.initializer "shared"{{.*}} : tensor<2xf32>
// CHECK: onnx.initializer "trained"{{.*}} : tensor<2xf32>
// CHECK: onnx.initializer "users"{{.*}} : tensor<2xf32>
// CHECK: onnx.initializer "output"{{.*}} : tensor<2xf32>
// CHECK-COUNT-4: "onnx.Cast"
module @kept attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
    %s = onnx.initializer "shared" dense<1.0> : tensor<2xf32> : tensor<2xf32>
    %t = onnx.initializer "trained" dense<1.0> : tensor<2xf32> : tensor<2xf32>
    %u = onnx.initializer "users" dense<1.0> : tensor<2xf32> : tensor<2xf32>
    %o = onnx.initializer "output" dense<1.0> : tensor<2xf32> : tensor<2xf32>
    %0 = "onnx.Cast"(%s) {mp.inserted, onnx.results = ["shared_low"], to = 16 : i64} : (tensor<2xf32>) -> tensor<2xbf16>
    %1 = "onnx.Exp"(%s) : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "onnx.Cast"(%t) {mp.inserted, to = 16 : i64} : (tensor<2xf32>) -> tensor<2xbf16>
    %3 = "onnx.Cast"(%u) {to = 16 : i64} : (tensor<2xf32>) -> tensor<2xbf16>
    %4 = "onnx.Cast"(%o) {mp.inserted, to = 16 : i64} : (tensor<2xf32>) -> tensor<2xbf16>
    onnx.yield %0, %1, %2, %3, %4, %o : tensor<2xbf16>, tensor<2xf32>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xf32>
  }
  onnx.training initialization {} algorithm {
    %t = onnx.outer "trained" : tensor<2xf32>
  }
}

// -----

// ConstantOfShape admits bf16 from opset 20 on, fp16 always.
// CHECK-LABEL: @legality
// CHECK: %[[A:.*]] = "onnx.ConstantOfShape"(%{{.*}}) {{.*}} -> tensor<2xf32>
// CHECK-NEXT: "onnx.Cast"(%[[A]])
// CHECK: %[[B:.*]] = "onnx.ConstantOfShape"(%{{.*}}) {value = dense<0.000000e+00> : tensor<1xf16>} : (tensor<1xi64>) -> tensor<2xf16>
module @legality attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%s: tensor<1xi64>):
    %a = "onnx.ConstantOfShape"(%s) : (tensor<1xi64>) -> tensor<2xf32>
    %0 = "onnx.Cast"(%a) {mp.inserted, to = 16 : i64} : (tensor<2xf32>) -> tensor<2xbf16>
    %b = "onnx.ConstantOfShape"(%s) : (tensor<1xi64>) -> tensor<2xf32>
    %1 = "onnx.Cast"(%b) {mp.inserted, to = 10 : i64} : (tensor<2xf32>) -> tensor<2xf16>
    onnx.yield %0, %1 : tensor<2xbf16>, tensor<2xf16>
  }
}

// -----

// A denied constant stays what it is.
// CHECK-LABEL: @denied
// CHECK: %[[C:.*]] = "onnx.Constant"() {{.*}} -> tensor<f32>
// CHECK-NEXT: "onnx.Cast"(%[[C]])
module @denied attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
    %c = "onnx.Constant"() {mp.precision = #mp.precision<f32>, value_float = 1.0 : f32} : () -> tensor<f32>
    %0 = "onnx.Cast"(%c) {mp.inserted, to = 16 : i64} : (tensor<f32>) -> tensor<bf16>
    onnx.yield %0 : tensor<bf16>
  }
}

// -----

// A mask's elements beyond the bound become it with their sign, infinities
// stay. One that stays f32 is clamped if what is made of it becomes 16 bit.
// CHECK-LABEL: @masks
// CHECK-SAME: mp.masks_clamped = 3 : i64
// CHECK: onnx.initializer "small" dense<[0.000000e+00, 0xFC00, -3.275200e+04]> : tensor<3xf16>
// CHECK: onnx.initializer "big" #onnx.cast_elements<dense_resource<k> : tensor<2xf32>, clamp = 3.275200e+04 : f64> : tensor<2xf16>
// CHECK: onnx.initializer "wide" dense<-3.275200e+04> : tensor<f32>
// CHECK: onnx.initializer "kept" dense<-1.000000e+09> : tensor<f32>
module @masks attributes {mp.policy = #mp.policy<f16>, onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%m: tensor<3xi1>, %x: tensor<3xf32>):
    %a = onnx.initializer "small" dense<[0.0, 0xFF800000, -1.0e9]> : tensor<3xf32> {mp.clamp = 32752.0 : f32, mp.range = array<f64: 10.0, -1.0e9, 0.0, 3.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0>} : tensor<3xf32>
    %b = onnx.initializer "big" dense_resource<k> : tensor<2xf32> {mp.clamp = 32752.0 : f32, mp.range = array<f64: 10.0, -1.0e9, 0.0, 2.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0>} : tensor<2xf32>
    %c = onnx.initializer "wide" dense<-1.0e9> : tensor<f32> {mp.clamp = 32752.0 : f32, mp.range = array<f64: 10.0, -1.0e9, -1.0e9, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0>} : tensor<f32>
    %d = onnx.initializer "kept" dense<-1.0e9> : tensor<f32> {mp.clamp = 32752.0 : f32, mp.range = array<f64: 10.0, -1.0e9, -1.0e9, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0>} : tensor<f32>
    %0 = "onnx.Cast"(%a) {mp.inserted, to = 10 : i64} : (tensor<3xf32>) -> tensor<3xf16>
    %1 = "onnx.Cast"(%b) {mp.inserted, to = 10 : i64} : (tensor<2xf32>) -> tensor<2xf16>
    %2 = "onnx.Where"(%m, %x, %c) : (tensor<3xi1>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    %3 = "onnx.Cast"(%2) {mp.inserted, to = 10 : i64} : (tensor<3xf32>) -> tensor<3xf16>
    %4 = "onnx.Where"(%m, %x, %d) : (tensor<3xi1>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    %5 = "onnx.Softmax"(%4) : (tensor<3xf32>) -> tensor<3xf32>
    %6 = "onnx.Cast"(%5) {mp.inserted, to = 10 : i64} : (tensor<3xf32>) -> tensor<3xf16>
    onnx.yield %0, %1, %3, %6 : tensor<3xf16>, tensor<2xf16>, tensor<3xf16>, tensor<3xf16>
  }
}

{-# dialect_resources: { builtin: { k: "0x0400000000000000286B6ECE" } } #-}
