// RUN: kernel-opt %s --mp-set-target=isa=avx512 --kernel-select-strategy --kernel-outline-contracts --kernel-to-cpu --canonicalize --cse | FileCheck %s
// RUN: kernel-opt %s --mp-set-target="isa=avx512 kernels=direct" --kernel-select-strategy --kernel-outline-contracts --kernel-to-cpu --canonicalize --cse | FileCheck %s --check-prefix=DIRECT
// RUN: kernel-opt %s --mp-set-target="isa=avx512 kernels=dot" --kernel-select-strategy --kernel-outline-contracts --kernel-to-cpu | FileCheck %s --check-prefix=DOT
// RUN: kernel-opt %s --mp-set-target="isa=avx512 kernels=amx" --kernel-select-strategy --kernel-outline-contracts --kernel-to-cpu | FileCheck %s --check-prefix=AMX

#image = affine_map<(n, f, i, j, c, k, l) -> (n, c, i + k - 1, j + l - 1)>
#weight = affine_map<(n, f, i, j, c, k, l) -> (f, c, k, l)>
#result = affine_map<(n, f, i, j, c, k, l) -> (n, f, i, j)>
#apart = affine_map<(n, f, i, j, c, k, l) -> (n, c, i * 2 + k - 1, j * 2 + l - 1)>

// Weights are transformed ahead, from gathered filter positions; patches are
// read as lines, a masked load for each run of tiles, and multiplied place by
// place.
// CHECK-LABEL: func.func @transformed
// CHECK: call @[[$TRANSFORMED:kernel_contract[_0-9]*]](
// CHECK-LABEL: func.func @unknown_sizes
// CHECK: call @[[$UNKNOWN:kernel_contract[_0-9]*]](
// CHECK-LABEL: func.func @few_channels
// CHECK: call @[[$FEW:kernel_contract[_0-9]*]](
// CHECK-LABEL: func.func @stride
// CHECK: call @[[$STRIDE:kernel_contract[_0-9]*]](
// CHECK-LABEL: func.func @narrow
// CHECK: call @[[$NARROW:kernel_contract[_0-9]*]](
// CHECK-LABEL: func.func @weights
// CHECK: call @[[$WEIGHTS:kernel_contract[_0-9]*]](
// CHECK: func.func private @[[$TRANSFORMED]](
// CHECK-DAG: %[[PLACES:.+]] = arith.constant 16 : index
// CHECK: scf.parallel
// CHECK-COUNT-9: vector.gather
// CHECK-NOT: vector.gather
// CHECK: scf.parallel
// CHECK: vector.deinterleave
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[PLACES]] step
// CHECK: func.call @kernel_tile_f32_8x48_by_row(
// CHECK: vector.interleave
// CHECK: func.func private @[[$UNKNOWN]](
// CHECK-NOT: vector.deinterleave
// CHECK: func.func private @[[$FEW]](
// CHECK-NOT: vector.deinterleave
// CHECK: func.func private @[[$STRIDE]](
// CHECK-COUNT-1: func.call @kernel_tile_f32_8x48_by_row(

// With 16 bit on both ends: tiles of 4 x 4 results, products in f32 for all
// forms but matrix instructions.
// CHECK: func.func private @[[$NARROW]](
// CHECK-DAG: %[[MORE:.+]] = arith.constant 36 : index
// CHECK: vector.deinterleave %{{.+}} : vector<32xi32>
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[MORE]] step
// CHECK: func.call @kernel_tile_f32_8x48_by_row(
// DOT: func.func private @kernel_contract(
// DOT: func.call @kernel_tile_f32_8x48_by_row(
// DOT: func.func private @kernel_contract_3(
// DOT-NOT: func.func private
// DOT: func.call @kernel_tile_f32_8x48_by_row(
// AMX: func.func private @kernel_contract_3(
// AMX-NOT: vector.deinterleave
// AMX: func.func private @kernel_contract_4(

// Gradients of weights: both operands are transposed, transformed and packed,
// by parallel loops, multiplied place by place; then the gradient's filter
// positions.
// CHECK: func.func private @[[$WEIGHTS]](
// CHECK: scf.for
// CHECK-COUNT-2: scf.parallel
// CHECK: scf.parallel
// CHECK: func.call @kernel_tile_f32_8x48(
// CHECK: scf.parallel
// CHECK-COUNT-9: vector.scatter
// DIRECT: func.func private @kernel_contract(
// DIRECT-NOT: vector.deinterleave
// DIRECT: func.func private @kernel_contract_0(
func.func @transformed(%x: memref<2x40x12x20xf32>, %w: memref<41x40x3x3xf32>, %y: memref<2x41x12x20xf32>) {
  kernel.contract {indexing_maps = [#image, #weight, #result]}
      ins(%x, %w : memref<2x40x12x20xf32>, memref<41x40x3x3xf32>) outs(%y : memref<2x41x12x20xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

func.func @unknown_sizes(%x: memref<2x40x?x?xf32>, %w: memref<41x40x3x3xf32>, %y: memref<2x41x?x?xf32>) {
  kernel.contract {indexing_maps = [#image, #weight, #result]}
      ins(%x, %w : memref<2x40x?x?xf32>, memref<41x40x3x3xf32>) outs(%y : memref<2x41x?x?xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// Transforms of few channels cost more than the products that they save.
func.func @few_channels(%x: memref<2x7x12x20xf32>, %w: memref<41x7x3x3xf32>, %y: memref<2x41x12x20xf32>) {
  kernel.contract {indexing_maps = [#image, #weight, #result]}
      ins(%x, %w : memref<2x7x12x20xf32>, memref<41x7x3x3xf32>) outs(%y : memref<2x41x12x20xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

func.func @stride(%x: memref<2x40x24x40xf32>, %w: memref<41x40x3x3xf32>, %y: memref<2x41x12x20xf32>) {
  kernel.contract {indexing_maps = [#apart, #weight, #result]}
      ins(%x, %w : memref<2x40x24x40xf32>, memref<41x40x3x3xf32>) outs(%y : memref<2x41x12x20xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

func.func @narrow(%x: memref<8x40x12x20xbf16>, %w: memref<41x40x3x3xbf16>, %y: memref<8x41x12x20xbf16>) {
  kernel.contract {indexing_maps = [#image, #weight, #result]}
      ins(%x, %w : memref<8x40x12x20xbf16>, memref<41x40x3x3xbf16>) outs(%y : memref<8x41x12x20xbf16>) {
  ^bb0(%sum: f32):
    %rounded = arith.truncf %sum : f32 to bf16
    kernel.yield %rounded : bf16
  }
  return
}

func.func @weights(%x: memref<8x40x17x20xf32>, %d: memref<8x41x17x20xf32>, %w: memref<41x40x3x3xf32>) {
  kernel.contract {indexing_maps = [#image, #result, #weight]}
      ins(%x, %d : memref<8x40x17x20xf32>, memref<8x41x17x20xf32>) outs(%w : memref<41x40x3x3xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}
