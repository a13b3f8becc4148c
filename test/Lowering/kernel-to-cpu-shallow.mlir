// RUN: kernel-opt %s -split-input-file --mp-set-target=isa=avx512 --kernel-select-strategy --kernel-outline-contracts --kernel-to-cpu --canonicalize --cse | FileCheck %s

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// Sums of few terms go from registers to the output, here those of tiles that
// are a vector wide.
// CHECK-LABEL: func.func @shallow
// CHECK: call @[[SHALLOW:kernel_contract[_0-9]*]](
// CHECK: call @[[DEEP:kernel_contract[_0-9]*]](
// CHECK: func.func private @[[SHALLOW]](
// CHECK-NOT: call @kernel_tile
// CHECK-COUNT-8: vector.fma
// CHECK-NOT: vector.load
// CHECK-COUNT-8: vector.maskedstore
// CHECK-NOT: call @kernel_tile
// CHECK: func.func private @[[DEEP]](
// CHECK: call @kernel_tile
func.func @shallow(%a: memref<64x64xf32>, %b: memref<64x600xf32>, %c: memref<64x600xf32>,
                   %d: memref<64x200xf32>, %e: memref<200x600xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%a, %b : memref<64x64xf32>, memref<64x600xf32>) outs(%c : memref<64x600xf32>) {
  ^bb0(%sum: f32):
    %0 = arith.maximumf %sum, %zero : f32
    kernel.yield %0 : f32
  }
  kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%d, %e : memref<64x200xf32>, memref<200x600xf32>) outs(%c : memref<64x600xf32>) {
  ^bb0(%sum: f32):
    %0 = arith.maximumf %sum, %zero : f32
    kernel.yield %0 : f32
  }
  return
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// An epilogue that is long is there once for each vector of columns.
// CHECK-LABEL: func.func @long
// CHECK: call @[[LONG:kernel_contract[_0-9]*]](
// CHECK: func.func private @[[LONG]](
// CHECK: call @kernel_tile
// CHECK-COUNT-3: math.tanh
// CHECK-NOT: math.tanh
func.func @long(%a: memref<64x64xf32>, %b: memref<64x600xf32>, %c: memref<64x600xf32>) {
  kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%a, %b : memref<64x64xf32>, memref<64x600xf32>) outs(%c : memref<64x600xf32>) {
  ^bb0(%sum: f32):
    %0 = math.tanh %sum : f32
    kernel.yield %0 : f32
  }
  return
}
