// RUN: mp-opt %s --mp-fuse-contractions | FileCheck %s --check-prefixes=CHECK,FUSED
// RUN: mp-opt %s --mp-fuse-contractions=keep-updates=true | FileCheck %s --check-prefixes=CHECK,KEPT

// The update of a state that a product rounds is an epilogue, but where devices
// keep copies of states in 16 bit, which it writes as well.

#id = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#turned_a = affine_map<(m, n, k) -> (k, m)>

// CHECK-LABEL: @rounded
// CHECK: kernel.contract {{.*}}round_b = bf16
// FUSED: kernel.contract
// FUSED:   arith.subf
// FUSED-NOT: linalg.generic
// KEPT: kernel.contract
// KEPT-NEXT: ^bb0
// KEPT-NEXT: kernel.yield
// KEPT: linalg.generic
// KEPT:   arith.subf
// CHECK: return
func.func @rounded(%x: tensor<8x4xbf16>, %g: tensor<8x4xbf16>, %w: tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32> {mp.state = 2 : i64}) {
  %0 = tensor.empty() : tensor<4x4xbf16>
  %low = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<4x4xf32>) outs(%0 : tensor<4x4xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %2 = arith.truncf %in : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<4x4xbf16>
  %1 = tensor.empty() : tensor<8x4xf32>
  %y = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %low : tensor<8x4xbf16>, tensor<4x4xbf16>) outs(%1 : tensor<8x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<8x4xf32>
  %3 = tensor.empty() : tensor<4x4xf32>
  %gradient = kernel.contract {indexing_maps = [#turned_a, #b, #c]} ins(%x, %g : tensor<8x4xbf16>, tensor<8x4xbf16>) outs(%3 : tensor<4x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x4xf32>
  %next = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w, %gradient : tensor<4x4xf32>, tensor<4x4xf32>) outs(%3 : tensor<4x4xf32>) {
  ^bb0(%in: f32, %d: f32, %out: f32):
    %2 = arith.subf %in, %d : f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  return %y, %next : tensor<8x4xf32>, tensor<4x4xf32>
}

// In fp32 there is nothing to keep.
// CHECK-LABEL: @exact
// CHECK: kernel.contract
// CHECK: kernel.contract
// CHECK:   arith.subf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @exact(%x: tensor<8x4xf32>, %g: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32> {mp.state = 2 : i64}) {
  %1 = tensor.empty() : tensor<8x4xf32>
  %y = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%1 : tensor<8x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<8x4xf32>
  %3 = tensor.empty() : tensor<4x4xf32>
  %gradient = kernel.contract {indexing_maps = [#turned_a, #b, #c]} ins(%x, %g : tensor<8x4xf32>, tensor<8x4xf32>) outs(%3 : tensor<4x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x4xf32>
  %next = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w, %gradient : tensor<4x4xf32>, tensor<4x4xf32>) outs(%3 : tensor<4x4xf32>) {
  ^bb0(%in: f32, %d: f32, %out: f32):
    %2 = arith.subf %in, %d : f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  return %y, %next : tensor<8x4xf32>, tensor<4x4xf32>
}
