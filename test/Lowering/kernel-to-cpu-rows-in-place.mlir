// RUN: kernel-opt %s --mp-set-target=isa=avx512 --kernel-select-strategy --kernel-outline-contracts --kernel-to-cpu --canonicalize --cse | FileCheck %s

// CHECK: #loop_unroll = #llvm.loop_unroll<disable = true>
#rows = affine_map<(m, n, k) -> (m, k)>
#turned = affine_map<(m, n, k) -> (k, m)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// Rows are not packed where each is a line of f32; behind the last one, a tile
// reads it again. LLVM does not unroll the loop over K.
// CHECK: func.func private @kernel_tile_f32_8x48_rows_in_place(%{{[^,]*}}: memref<?xf32, strided<[1], offset: ?>>
// CHECK: arith.minsi
// CHECK: memref.prefetch
// CHECK: {loop_annotation = #loop_annotation}
// CHECK-LABEL: func.func @lines
// CHECK: call @[[LINES:kernel_contract[_0-9]*]](
// CHECK: call @[[LANES:kernel_contract[_0-9]*]](
// CHECK: call @[[NARROW:kernel_contract[_0-9]*]](
// CHECK: func.func private @[[LINES]](
// CHECK-NOT: memref.alloc
// CHECK-NOT: runtime.scratch 1
// CHECK: func.call @kernel_tile_f32_8x48_rows_in_place(
// CHECK: func.func private @[[LANES]](
// CHECK: memref.alloc
// CHECK: func.call @kernel_tile_f32_8x48(
// CHECK: func.func private @[[NARROW]](
// CHECK: memref.alloc
// CHECK: func.call @kernel_tile_f32_8x48_by_row(
func.func @lines(%a: memref<500x600xf32>, %t: memref<600x500xf32>, %h: memref<500x600xbf16>,
                 %b: memref<600x700xf32>, %c: memref<500x700xf32>) {
  kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%a, %b : memref<500x600xf32>, memref<600x700xf32>) outs(%c : memref<500x700xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#turned, #columns, #out]}
      ins(%t, %b : memref<600x500xf32>, memref<600x700xf32>) outs(%c : memref<500x700xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%h, %b : memref<500x600xbf16>, memref<600x700xf32>) outs(%c : memref<500x700xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}
