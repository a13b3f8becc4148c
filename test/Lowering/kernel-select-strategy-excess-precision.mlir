// RUN: kernel-opt %s --mp-set-target=isa=avx512 --kernel-select-strategy \
// RUN:   --split-input-file | FileCheck %s

#image = affine_map<(n, f, i, j, c, k, l) -> (n, c, i + k - 1, j + l - 1)>
#weight = affine_map<(n, f, i, j, c, k, l) -> (f, c, k, l)>
#result = affine_map<(n, f, i, j, c, k, l) -> (n, f, i, j)>

// A sum of 16-bit factors whose rounding was dropped takes the large tiles that
// it takes when it is rounded; a sum of fp32 factors does not.
// CHECK-LABEL: func.func @dropped_rounding
// CHECK: strategy = winograd, {{.*}}f = 4
// CHECK: strategy = winograd, {{.*}}f = 2
module attributes {kernel.excess_precision} {
func.func @dropped_rounding(%h: memref<8x40x12x20xbf16>, %v: memref<41x40x3x3xbf16>, %y: memref<8x41x12x20xf32>,
                            %x: memref<8x40x12x20xf32>, %w: memref<41x40x3x3xf32>) {
  kernel.contract {indexing_maps = [#image, #weight, #result]}
      ins(%h, %v : memref<8x40x12x20xbf16>, memref<41x40x3x3xbf16>) outs(%y : memref<8x41x12x20xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#image, #weight, #result]}
      ins(%x, %w : memref<8x40x12x20xf32>, memref<41x40x3x3xf32>) outs(%y : memref<8x41x12x20xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}
}

// -----

#image = affine_map<(n, f, i, j, c, k, l) -> (n, c, i + k - 1, j + l - 1)>
#weight = affine_map<(n, f, i, j, c, k, l) -> (f, c, k, l)>
#result = affine_map<(n, f, i, j, c, k, l) -> (n, f, i, j)>

// Otherwise fp32 results are as exact as fp32 sums.
// CHECK-LABEL: func.func @exact_result
// CHECK-NOT: f = 4
// CHECK: return
func.func @exact_result(%h: memref<8x40x12x20xbf16>, %v: memref<41x40x3x3xbf16>, %y: memref<8x41x12x20xf32>) {
  kernel.contract {indexing_maps = [#image, #weight, #result]}
      ins(%h, %v : memref<8x40x12x20xbf16>, memref<41x40x3x3xbf16>) outs(%y : memref<8x41x12x20xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}
