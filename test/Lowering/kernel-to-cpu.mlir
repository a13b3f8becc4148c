// RUN: kernel-opt %s --mp-set-target=isa=avx512 --kernel-select-strategy --kernel-outline-contracts --kernel-to-cpu --canonicalize --cse | FileCheck %s
// RUN: kernel-opt %s --mp-set-target="isa=avx512 kernels=amx" --kernel-select-strategy --kernel-outline-contracts --kernel-to-cpu --canonicalize --cse | FileCheck %s --check-prefix=AMX
// RUN: kernel-opt %s --mp-set-target=isa=avx512 --kernel-select-strategy --kernel-outline-contracts --kernel-to-cpu --convert-scratch-to-llvm | FileCheck %s --check-prefix=SCRATCH

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// The register tile: 8 rows, 3 vectors, sums carried by the loop.
// CHECK-LABEL: func.func private @kernel_tile_f32_8x48
// CHECK: scf.for
// CHECK-COUNT-24: vector.fma

// All products with operands of one form share the code that packs them. bf16 is
// widened there, unless tile registers are asked for.
// CHECK-LABEL: func.func private @kernel_pack_bf16_48_lanes
// CHECK: arith.extf
// CHECK-LABEL: func.func private @kernel_pack_bf16_8_depth
// CHECK: arith.extf
// CHECK-NOT: @kernel_pack
// AMX-LABEL: llvm.func internal @kernel_tile_amx_bf16
// AMX: "llvm.x86.tdpbf16ps.internal"

// CHECK-LABEL: func.func @products
// CHECK-NOT: kernel.contract
// CHECK: call @[[PRODUCT:kernel_contract[_0-9]*]](
// CHECK: call @[[PRODUCT]](
// CHECK: call @[[OTHER:kernel_contract[_0-9]*]](
func.func @products(%a: memref<64x200xbf16>, %b: memref<200x208xbf16>, %c: memref<64x208xbf16>,
                    %d: memref<?x?xbf16>, %e: memref<?x?xbf16>, %f: memref<?x?xbf16>) {
  kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%a, %b : memref<64x200xbf16>, memref<200x208xbf16>) outs(%c : memref<64x208xbf16>) {
  ^bb0(%sum: f32):
    %0 = arith.truncf %sum : f32 to bf16
    kernel.yield %0 : bf16
  }
  // Other sizes, the same function.
  kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%a, %b : memref<64x200xbf16>, memref<200x208xbf16>) outs(%c : memref<64x208xbf16>) {
  ^bb0(%sum: f32):
    %0 = arith.truncf %sum : f32 to bf16
    kernel.yield %0 : bf16
  }
  // Another epilogue, another function.
  %zero = arith.constant 0.0 : f32
  kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%d, %e : memref<?x?xbf16>, memref<?x?xbf16>) outs(%f : memref<?x?xbf16>) {
  ^bb0(%sum: f32):
    %0 = arith.maximumf %sum, %zero : f32
    %1 = arith.truncf %0 : f32 to bf16
    kernel.yield %1 : bf16
  }
  return
}

// Packing is one parallel loop, the blocks are another; the epilogue is where
// sums are stored.
// CHECK: func.func private @[[PRODUCT]](
// CHECK: memref.alloc
// CHECK: scf.parallel
// CHECK: call @kernel_pack_bf16_8_depth
// CHECK: scf.parallel
// CHECK: runtime.scratch 0
// CHECK: call @kernel_pack_bf16_48_lanes
// CHECK: call @kernel_tile_f32
// CHECK: arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: vector.maskedstore
// CHECK: memref.dealloc
// CHECK: func.func private @[[OTHER]](
// CHECK: arith.maximumf %{{.*}} : vector<16xf32>

// SCRATCH: llvm.func @mp_scratch(i32, i64) -> !llvm.ptr
// SCRATCH-NOT: runtime.scratch
// SCRATCH: llvm.call @mp_scratch
// SCRATCH-NOT: runtime.scratch
