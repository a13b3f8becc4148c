// RUN: kernel-opt %s --mp-set-target=isa=avx512 --kernel-select-strategy --kernel-outline-contracts --kernel-to-cpu --canonicalize --cse | FileCheck %s

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// Few rows multiply columns where they lie: nothing is packed but the rows.
// CHECK-LABEL: func.func @few_rows
// CHECK: call @[[FEW:kernel_contract[_0-9]*]](
// CHECK: func.func private @[[FEW]](
// CHECK-NOT: runtime.scratch 0
// CHECK: call @kernel_tile_f32_4x96_by_row_bf16_in_place(
func.func @few_rows(%a: memref<4x200xbf16>, %b: memref<200x600xbf16>, %c: memref<4x600xf32>) {
  kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%a, %b : memref<4x200xbf16>, memref<200x600xbf16>) outs(%c : memref<4x600xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}
