// RUN: mp-opt %s --mp-lower-to-llvm="isa=avx512 kernels=widen" | FileCheck %s
// RUN: mp-opt %s --mp-lower-to-llvm="isa=avx512 kernels=widen keep-panels=false" | FileCheck %s --check-prefix=ONCE

// A product with a constant: its panels outlast a call unless that is the only one.
// CHECK: module attributes {{.*}}mp.kept = 1 : i64
// CHECK: llvm.func @main(
// CHECK: llvm.call @[[PRODUCT:kernel_contract[_0-9]*]](
// CHECK: llvm.func @[[PRODUCT]](
// CHECK: %[[KEPT:.*]] = llvm.call @mp_kept(%[[SLOT:.*]]) : (i64) -> !llvm.ptr
// CHECK: %[[THERE:.*]] = llvm.icmp "ne" %[[KEPT]],
// CHECK: llvm.cond_br %[[THERE]],
// CHECK: %[[NEW:.*]] = llvm.call @mp_allocate(
// CHECK: llvm.call @mp_keep(%[[SLOT]], %[[NEW]]) : (i64, !llvm.ptr) -> !llvm.ptr
// ONCE-NOT: mp.kept
// ONCE-NOT: @mp_kept
// ONCE-NOT: @mp_keep
func.func @main(%x: tensor<64x64xf32> {mp.element = f32, mp.name = "x"},
                %w: tensor<64x96xf32> {mp.constant = dense<1.0> : tensor<64x96xf32>,
                                       mp.element = f32})
    -> (tensor<64x96xf32> {mp.element = f32, mp.name = "y"}) {
  %c = tensor.empty() : tensor<64x96xf32>
  %y = kernel.contract {indexing_maps = [
      affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>]}
      ins(%x, %w : tensor<64x64xf32>, tensor<64x96xf32>) outs(%c : tensor<64x96xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } -> tensor<64x96xf32>
  return %y : tensor<64x96xf32>
}
