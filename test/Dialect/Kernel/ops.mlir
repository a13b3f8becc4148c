// RUN: kernel-opt %s | kernel-opt | FileCheck %s
// RUN: kernel-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" | FileCheck %s --check-prefix=BUFFER

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#bias = affine_map<(m, n, k) -> (n)>
#out = affine_map<(m, n, k) -> (m, n)>
#place = affine_map<(m, n) -> (m, n)>

// CHECK-LABEL: func @dense
// CHECK: kernel.contract
// CHECK-SAME: ins(%{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<64x32xf32>) extra(%{{.*}} : tensor<32xf32>) outs(%{{.*}} : tensor<?x32xbf16>)
// CHECK: kernel.yield %{{.*}} : bf16
// CHECK: } -> tensor<?x32xbf16>
// The output is written where the result is wanted; nothing is copied.
// BUFFER-LABEL: func @dense
// BUFFER-NOT: memref.copy
// BUFFER: kernel.contract
// BUFFER-SAME: outs(%{{.*}} : memref<?x32xbf16>)
// BUFFER-NOT: memref.copy
// BUFFER: return
func.func @dense(%x: tensor<?x64xbf16>, %w: tensor<64x32xf32>, %b: tensor<32xf32>, %size: index) -> tensor<?x32xbf16> {
  %init = tensor.empty(%size) : tensor<?x32xbf16>
  %y = kernel.contract {indexing_maps = [#rows, #columns, #bias, #out]}
      ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xf32>) extra(%b : tensor<32xf32>)
      outs(%init : tensor<?x32xbf16>) {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    %1 = arith.truncf %0 : f32 to bf16
    kernel.yield %1 : bf16
  } -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}

// An operand that is read again keeps its value.
// BUFFER-LABEL: func @no_reuse_of_operands
// BUFFER: memref.alloc
// BUFFER: kernel.contract
func.func @no_reuse_of_operands(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%x : tensor<8x8xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// CHECK-LABEL: func @phase
// CHECK: sizes(%{{.*}}, %{{.*}}) outs
func.func @phase(%x: memref<4x8xf32>, %w: memref<8x4xf32>, %y: memref<8x8xf32>, %i: index, %j: index) {
  kernel.contract {indexing_maps = [
      affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (2 * i, 2 * j + 1)>]}
      ins(%x, %w : memref<4x8xf32>, memref<8x4xf32>) outs(%y : memref<8x8xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [
      affine_map<(i, j, k) -> (2 * i, k)>, affine_map<(i, j, k) -> (k, 2 * j)>, affine_map<(i, j, k) -> (2 * i, 2 * j + 1)>]}
      ins(%x, %w : memref<4x8xf32>, memref<8x4xf32>) sizes(%i, %j) outs(%y : memref<8x8xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// A weight in f32, multiplied as if it were bf16.
// CHECK-LABEL: func @rounded
// CHECK: kernel.contract {indexing_maps = [{{.*}}], round_b = bf16} ins(%{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<64x32xf32>)
// CHECK: kernel.contract {indexing_maps = [{{.*}}], round_a = f16, round_b = bf16} ins
// BUFFER-LABEL: func @rounded
// BUFFER: kernel.contract {indexing_maps = [{{.*}}], round_b = bf16} ins
// BUFFER: kernel.contract {indexing_maps = [{{.*}}], round_a = f16, round_b = bf16} ins
func.func @rounded(%x: tensor<?x64xbf16>, %w: tensor<64x32xf32>, %y: tensor<?x32xf32>, %z: tensor<64x32xf32>) -> (tensor<?x32xf32>, tensor<64x32xf32>) {
  %0 = kernel.contract {indexing_maps = [#rows, #columns, #out], round_b = bf16}
      ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xf32>) outs(%y : tensor<?x32xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } -> tensor<?x32xf32>
  %1 = kernel.contract {indexing_maps = [#place, #place, #place], round_a = f16, round_b = bf16}
      ins(%w, %w : tensor<64x32xf32>, tensor<64x32xf32>) outs(%z : tensor<64x32xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } -> tensor<64x32xf32>
  return %0, %1 : tensor<?x32xf32>, tensor<64x32xf32>
}

// What is read where the result is written may be the same memory; what is read
// transposed may not.
// BUFFER-LABEL: func @update
// BUFFER-SAME: %[[W:[a-z0-9]+]]: memref<32x32xf32>
// BUFFER-NOT: memref.copy
// BUFFER: kernel.contract
// BUFFER-SAME: extra(%[[W]] : memref<32x32xf32>) outs(%[[W]] : memref<32x32xf32>)
// BUFFER-NOT: memref.copy
// BUFFER: return
func.func @update(%w: tensor<32x32xf32> {bufferization.writable = true}, %x: tensor<32x8xf32>, %y: tensor<8x32xf32>) -> tensor<32x32xf32> {
  %z = kernel.contract {indexing_maps = [#rows, #columns, #out, #out]}
      ins(%x, %y : tensor<32x8xf32>, tensor<8x32xf32>) extra(%w : tensor<32x32xf32>)
      outs(%w : tensor<32x32xf32>) {
  ^bb0(%sum: f32, %old: f32):
    %0 = arith.subf %old, %sum : f32
    kernel.yield %0 : f32
  } -> tensor<32x32xf32>
  return %z : tensor<32x32xf32>
}

// BUFFER-LABEL: func @update_transposed
// BUFFER-SAME: %[[W:[a-z0-9]+]]: memref<32x32xf32>
// BUFFER: %[[NEW:.*]] = memref.alloc
// BUFFER: kernel.contract
// BUFFER-SAME: extra(%[[W]] : memref<32x32xf32>) outs(%[[NEW]] : memref<32x32xf32>)
func.func @update_transposed(%w: tensor<32x32xf32> {bufferization.writable = true}, %x: tensor<32x8xf32>, %y: tensor<8x32xf32>) -> tensor<32x32xf32> {
  %z = kernel.contract {indexing_maps = [#rows, #columns, affine_map<(m, n, k) -> (n, m)>, #out]}
      ins(%x, %y : tensor<32x8xf32>, tensor<8x32xf32>) extra(%w : tensor<32x32xf32>)
      outs(%w : tensor<32x32xf32>) {
  ^bb0(%sum: f32, %old: f32):
    %0 = arith.subf %old, %sum : f32
    kernel.yield %0 : f32
  } -> tensor<32x32xf32>
  return %z : tensor<32x32xf32>
}

// CHECK-LABEL: func @step
// CHECK: kernel.arg_select gt %{{.*}}, %{{.*}} over %{{.*}}, %{{.*}} : f32, i64
// CHECK: kernel.arg_select le unsigned %{{.*}}, %{{.*}} over %{{.*}}, %{{.*}} : i8, i32
func.func @step(%x: f32, %i: i64, %best: f32, %place: i64, %n: i8, %j: i32) -> (f32, i64, i8, i32) {
  %0:2 = kernel.arg_select gt %x, %i over %best, %place : f32, i64
  %1:2 = kernel.arg_select le unsigned %n, %j over %n, %j : i8, i32
  return %0#0, %0#1, %1#0, %1#1 : f32, i64, i8, i32
}

// CHECK-LABEL: func @attend
// CHECK: kernel.attention {indexing_maps = [
// CHECK-SAME: ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x64x32xbf16>, tensor<2x48x32xbf16>, tensor<2x48x16xbf16>, tensor<1x48xf32>)
// CHECK: kernel.yield %{{.*}}, %{{.*}}, %{{.*}} : f32, bf16, bf16
// CHECK: } -> tensor<2x64x16xbf16>, tensor<2x64xf32>, tensor<2x64xf32>
// BUFFER-LABEL: func @attend
// BUFFER-NOT: memref.copy
// BUFFER: kernel.attention {indexing_maps = [
// BUFFER: arith.addf
// BUFFER: kernel.yield
// BUFFER-NOT: memref.copy
// BUFFER: return
func.func @attend(%q: tensor<2x64x32xbf16>, %k: tensor<2x48x32xbf16>, %v: tensor<2x48x16xbf16>, %mask: tensor<1x48xf32>) -> tensor<2x64x16xbf16> {
  %o = tensor.empty() : tensor<2x64x16xbf16>
  %max = tensor.empty() : tensor<2x64xf32>
  %sum = tensor.empty() : tensor<2x64xf32>
  %z:3 = kernel.attention {indexing_maps = [affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (0, n)>, affine_map<(b, m, n, d, e) -> (b, m, e)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m)>]}
      ins(%q, %k, %v, %mask : tensor<2x64x32xbf16>, tensor<2x48x32xbf16>, tensor<2x48x16xbf16>, tensor<1x48xf32>) outs(%o, %max, %sum : tensor<2x64x16xbf16>, tensor<2x64xf32>, tensor<2x64xf32>) {
  ^bb0(%s: f32, %p: f32, %x: f32, %hidden: f32, %i: index, %j: index, %l: index):
    %0 = arith.addf %s, %hidden : f32
    %1 = arith.truncf %p : f32 to bf16
    %2 = arith.truncf %x : f32 to bf16
    kernel.yield %0, %1, %2 : f32, bf16, bf16
  } -> tensor<2x64x16xbf16>, tensor<2x64xf32>, tensor<2x64xf32>
  return %z#0 : tensor<2x64x16xbf16>
}

// CHECK-LABEL: func @attend_back
// CHECK: kernel.attention_gradient {indexing_maps = [
// CHECK: kernel.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : f32, f16, f16, f32, f16, f16
func.func @attend_back(%q: memref<2x64x32xf16>, %k: memref<2x48x32xf16>, %v: memref<2x48x16xf16>, %g: memref<2x64x16xf16>, %row: memref<2x64xf32>, %dq: memref<2x64x32xf32>, %dk: memref<2x48x32xf16>, %dv: memref<2x48x16xf16>) {
  kernel.attention_gradient {indexing_maps = [affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (b, m, e)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, e)>]}
      ins(%q, %k, %v, %g, %row, %row, %row : memref<2x64x32xf16>, memref<2x48x32xf16>, memref<2x48x16xf16>, memref<2x64x16xf16>, memref<2x64xf32>, memref<2x64xf32>, memref<2x64xf32>)
      outs(%dq, %dk, %dv : memref<2x64x32xf32>, memref<2x48x32xf16>, memref<2x48x16xf16>) {
  ^bb0(%s: f32, %p: f32, %dp: f32, %inner: f32, %x: f32, %i: index, %j: index, %l: index):
    %0 = arith.truncf %p : f32 to f16
    %1 = arith.subf %dp, %inner : f32
    %2 = arith.mulf %p, %1 : f32
    %3 = arith.truncf %2 : f32 to f16
    %4 = arith.truncf %x : f32 to f16
    kernel.yield %s, %0, %3, %x, %4, %4 : f32, f16, f16, f32, f16, f16
  }
  return
}
