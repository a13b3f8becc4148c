// RUN: mp-opt %s --split-input-file --mp-pad-rows | FileCheck %s

// Rows of 50,257 elements of 16 bits begin 50,304 elements apart; types of views
// follow, and loops read the memory as before.

#id = affine_map<(i, j) -> (i, j)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @main
// CHECK: %[[LONG:.*]] = memref.alloc() {alignment = 64 : i64} : memref<2x4x50304xbf16>
// CHECK: %[[ROWS:.*]] = memref.subview %[[LONG]][0, 0, 0] [2, 4, 50257] [1, 1, 1] : memref<2x4x50304xbf16> to memref<2x4x50257xbf16, strided<[201216, 50304, 1]>>
// CHECK: %[[FLAT:.*]] = memref.collapse_shape %[[ROWS]] {{.*}} into memref<8x50257xbf16, strided<[50304, 1]>>
// CHECK: linalg.generic {{.*}} outs(%[[FLAT]] : memref<8x50257xbf16, strided<[50304, 1]>>)
// CHECK: kernel.contract {{.*}} ins(%[[FLAT]], %{{.*}} : memref<8x50257xbf16, strided<[50304, 1]>>, memref<50257x64xbf16>)
// CHECK: memref.dealloc %[[LONG]] : memref<2x4x50304xbf16>
func.func @main(%x: memref<8x50257xf32>, %w: memref<50257x64xbf16>, %y: memref<8x64xf32>) {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<2x4x50257xbf16>
  %1 = memref.collapse_shape %0 [[0, 1], [2]] : memref<2x4x50257xbf16> into memref<8x50257xbf16>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x50257xf32>) outs(%1 : memref<8x50257xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %2 = arith.truncf %in : f32 to bf16
    linalg.yield %2 : bf16
  }
  kernel.contract {indexing_maps = [#a, #b, #c]} ins(%1, %w : memref<8x50257xbf16>, memref<50257x64xbf16>) outs(%y : memref<8x64xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  memref.dealloc %0 : memref<2x4x50257xbf16>
  return
}

// -----

// A product from which a map computes a factor has the same rows.

#id = affine_map<(i, j) -> (i, j)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @main
// CHECK: memref.alloc() : memref<8x80xbf16>
// CHECK: memref.alloc() : memref<8x80xf16>
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<8x77xbf16, strided<[80, 1]>>) outs(%{{.*}} : memref<8x77xf16, strided<[80, 1]>>)
// CHECK: memref.alloc() : memref<8x77xf32>
func.func @main(%x: memref<8x64xbf16>, %w: memref<64x77xbf16>, %v: memref<77x64xf16>, %y: memref<8x64xf32>) {
  %0 = memref.alloc() : memref<8x77xbf16>
  kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %w : memref<8x64xbf16>, memref<64x77xbf16>) outs(%0 : memref<8x77xbf16>) {
  ^bb0(%sum: f32):
    %2 = arith.truncf %sum : f32 to bf16
    kernel.yield %2 : bf16
  }
  %1 = memref.alloc() : memref<8x77xf16>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : memref<8x77xbf16>) outs(%1 : memref<8x77xf16>) {
  ^bb0(%in: bf16, %out: f16):
    %2 = arith.extf %in : bf16 to f32
    %3 = arith.truncf %2 : f32 to f16
    linalg.yield %3 : f16
  }
  kernel.contract {indexing_maps = [#a, #b, #c]} ins(%1, %v : memref<8x77xf16>, memref<77x64xf16>) outs(%y : memref<8x64xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  // Memory of the same sizes that nobody multiplies.
  %4 = memref.alloc() : memref<8x77xf32>
  kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %w : memref<8x64xbf16>, memref<64x77xbf16>) outs(%4 : memref<8x77xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  memref.dealloc %0 : memref<8x77xbf16>
  memref.dealloc %1 : memref<8x77xf16>
  memref.dealloc %4 : memref<8x77xf32>
  return
}

// -----

// Rows of a multiple of 16 bytes; short rows, of which the padding would be too
// large a part; memory that is no factor; axes that are read as one.

#id = affine_map<(i, j) -> (i, j)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#line = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @main
// CHECK: memref.alloc() : memref<8x64xbf16>
// CHECK: memref.alloc() : memref<8x9xbf16>
// CHECK: memref.alloc() : memref<8x77xf32>
// CHECK: memref.alloc() : memref<8x77xbf16>
// CHECK-NOT: subview
func.func @main(%v: memref<64x77xbf16>, %w: memref<9x77xbf16>, %u: memref<77x64xbf16>, %z: memref<8x64xf32>, %t: memref<616xf32>) {
  %0 = memref.alloc() : memref<8x64xbf16>
  %1 = memref.alloc() : memref<8x9xbf16>
  %2 = memref.alloc() : memref<8x77xf32>
  %3 = memref.alloc() : memref<8x77xbf16>
  kernel.contract {indexing_maps = [#a, #b, #c]} ins(%0, %v : memref<8x64xbf16>, memref<64x77xbf16>) outs(%2 : memref<8x77xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#a, #b, #c]} ins(%1, %w : memref<8x9xbf16>, memref<9x77xbf16>) outs(%2 : memref<8x77xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#a, #b, #c]} ins(%3, %u : memref<8x77xbf16>, memref<77x64xbf16>) outs(%z : memref<8x64xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  %4 = memref.collapse_shape %3 [[0, 1]] : memref<8x77xbf16> into memref<616xbf16>
  linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]} ins(%4 : memref<616xbf16>) outs(%t : memref<616xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %5 = arith.extf %in : bf16 to f32
    linalg.yield %5 : f32
  }
  memref.dealloc %0 : memref<8x64xbf16>
  memref.dealloc %1 : memref<8x9xbf16>
  memref.dealloc %2 : memref<8x77xf32>
  memref.dealloc %3 : memref<8x77xbf16>
  return
}
