// RUN: kernel-opt %s --kernel-select-tile | FileCheck %s
// RUN: kernel-opt %s --kernel-select-tile --remarks-filter-analyse=mp-codegen 2>&1 | FileCheck %s --check-prefix=REMARK

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Enough tiles for all multiprocessors: large ones, multiplied by tensor cores.
// CHECK-LABEL: func.func @large
// CHECK: kernel.tile = #kernel.tile<by = mma, m = 128, n = 128, k = 64, part_m = 64, part_n = 64, stages = 2>
// REMARK: remark: [Analysis] strategy | Category:mp-codegen
// REMARK-SAME: Blocks=256
// REMARK-SAME: Shared=65536
// REMARK-SAME: Strategy=mma
// REMARK-SAME: Tile="#kernel.tile<by = mma, {{.*}}>"
func.func @large(%a: memref<2048x512xbf16>, %b: memref<512x2048xbf16>, %c: memref<2048x2048xf32>) {
  kernel.contract {indexing_maps = [#a, #b, #c]}
      ins(%a, %b : memref<2048x512xbf16>, memref<512x2048xbf16>) outs(%c : memref<2048x2048xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// fp32 is multiplied exactly.
// CHECK-LABEL: func.func @exact
// CHECK: kernel.tile = #kernel.tile<by = fma, m = 128, n = 128, k = 16, part_m = 8, part_n = 8, stages = 3>
func.func @exact(%a: memref<2048x512xf32>, %b: memref<512x2048xf32>, %c: memref<2048x2048xf32>) {
  kernel.contract {indexing_maps = [#a, #b, #c]}
      ins(%a, %b : memref<2048x512xf32>, memref<512x2048xf32>) outs(%c : memref<2048x2048xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// What is rounded while it is read is multiplied by tensor cores, two types are
// not.
// CHECK-LABEL: func.func @types
// CHECK: kernel.tile = #kernel.tile<by = mma
// CHECK: kernel.tile = #kernel.tile<by = fma
func.func @types(%a: memref<512x512xf16>, %b: memref<512x512xf32>, %d: memref<512x512xbf16>, %c: memref<512x512xf32>) {
  kernel.contract {indexing_maps = [#a, #b, #c], round_b = f16}
      ins(%a, %b : memref<512x512xf16>, memref<512x512xf32>) outs(%c : memref<512x512xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#a, #b, #c]}
      ins(%a, %d : memref<512x512xf16>, memref<512x512xbf16>) outs(%c : memref<512x512xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// Few rows, and few elements: small tiles; what is given is kept.
// CHECK-LABEL: func.func @small
// CHECK: kernel.tile = #kernel.tile<by = mma, m = 16, n = {{16|32|64}}, k = 32
// CHECK: kernel.tile = #kernel.tile<by = fma, m = 16, n = 16, k = 16
// CHECK: kernel.tile = #kernel.tile<by = fma, m = 32, n = 32, k = 8, part_m = 4, part_n = 4, stages = 2>
func.func @small(%a: memref<4x512xf16>, %b: memref<512x512xf16>, %c: memref<4x512xf32>,
                 %d: memref<4x512xf32>, %e: memref<512x10xf32>, %f: memref<4x10xf32>) {
  kernel.contract {indexing_maps = [#a, #b, #c]}
      ins(%a, %b : memref<4x512xf16>, memref<512x512xf16>) outs(%c : memref<4x512xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#a, #b, #c]}
      ins(%d, %e : memref<4x512xf32>, memref<512x10xf32>) outs(%f : memref<4x10xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#a, #b, #c],
      kernel.tile = #kernel.tile<by = fma, m = 32, n = 32, k = 8, part_m = 4, part_n = 4, stages = 2>}
      ins(%d, %e : memref<4x512xf32>, memref<512x10xf32>) outs(%f : memref<4x10xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// Unless the module asks for tf32: as many bytes, half as many elements.
module attributes {kernel.fp32_products = "tf32"} {
  // CHECK-LABEL: func.func @tf32
  // CHECK: kernel.tile = #kernel.tile<by = mma, m = 128, n = 128, k = 32, part_m = 64, part_n = 64, stages = 2>
  func.func @tf32(%a: memref<2048x512xf32>, %b: memref<512x2048xf32>, %c: memref<2048x2048xf32>) {
    kernel.contract {indexing_maps = [#a, #b, #c]}
        ins(%a, %b : memref<2048x512xf32>, memref<512x2048xf32>) outs(%c : memref<2048x2048xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
    return
  }

  // CHECK-LABEL: func.func @tf32_is_for_f32
  // CHECK: kernel.tile = #kernel.tile<by = fma,
  func.func @tf32_is_for_f32(%a: memref<2048x512xf64>, %b: memref<512x2048xf64>, %c: memref<2048x2048xf64>) {
    kernel.contract {indexing_maps = [#a, #b, #c]}
        ins(%a, %b : memref<2048x512xf64>, memref<512x2048xf64>) outs(%c : memref<2048x2048xf64>) {
    ^bb0(%sum: f64):
      kernel.yield %sum : f64
    }
    return
  }
}
