// RUN: mp-opt %s --mp-lower-to-rocdl | FileCheck %s --check-prefixes=CHECK,MFMA
// RUN: mp-opt %s --mp-lower-to-rocdl=chip=gfx1100 | FileCheck %s --check-prefixes=CHECK,WMMA

// A product of bf16 by matrix cores, 64 lanes a wave or 32, with copies through
// registers.
// MFMA: device.target = #device.target<chip = "gfx942">
// WMMA: device.target = #device.target<chip = "gfx1100">
// CHECK: device.launch @kernels::@contract_0
// CHECK: llvm.func @contract_0
// CHECK-SAME: rocdl.kernel
// CHECK-NOT: nvvm
// CHECK: rocdl.barrier
// MFMA: rocdl.mfma.f32.16x16x16bf16.1k {{.*}} : (vector<4xi16>, vector<4xi16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
// WMMA: rocdl.wmma.f32.16x16x16.bf16 {{.*}} : (vector<16xi16>, vector<16xi16>, vector<8xf32>) -> vector<8xf32>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @main(%x: tensor<64x128xbf16> {mp.element = bf16, mp.name = "x"}, %w: tensor<128x64xbf16> {mp.element = bf16, mp.name = "w"})
    -> (tensor<64x64xf32> {mp.element = f32, mp.name = "y"}) {
  %0 = tensor.empty() : tensor<64x64xf32>
  %y = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %w : tensor<64x128xbf16>, tensor<128x64xbf16>) outs(%0 : tensor<64x64xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
