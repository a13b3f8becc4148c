// RUN: mp-opt %s --split-input-file --mp-split-reductions | FileCheck %s

// Sums of columns: each piece is every 16th row, so that pieces are columns as
// well.

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
// CHECK-DAG: #[[$IN:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[$PLACE:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK: module attributes {mp.arena = 32768 : i64}
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  // CHECK: %[[PARTIAL:.*]] = memref.view %{{.*}} : memref<32768xi8> to memref<16x512xf32>
  %x = runtime.input %inputs[0] : memref<2048x512xf32>
  %y = runtime.output %outputs[0] () : memref<512xf32>
  // CHECK: %[[X:.*]] = memref.expand_shape %{{.*}} {{\[\[0, 1\], \[2\]\]}} output_shape [128, 16, 512]
  // CHECK: %[[ZERO:.*]] = arith.constant {{-?0.*}} : f32
  // CHECK: device.group reduce {
  // CHECK:   linalg.generic {{.*}} ["parallel", "parallel"]} outs(%[[PARTIAL]] : memref<16x512xf32>)
  // CHECK:     linalg.yield %[[ZERO]]
  // CHECK:   linalg.generic {indexing_maps = [#[[$IN]], #[[$PLACE]]], iterator_types = ["reduction", "parallel", "parallel"]} ins(%[[X]] : memref<128x16x512xf32>) outs(%[[PARTIAL]] : memref<16x512xf32>)
  // CHECK: device.group reduce {
  // CHECK-NEXT: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[PARTIAL]] : memref<16x512xf32>) outs(%{{.*}} : memref<512xf32>)
  // CHECK-NOT: device.group
  device.group reduce {
    linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<2048x512xf32>) outs(%y : memref<512xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// Two results at once, of points that follow each other, and a number of them
// that has no divisor: what is left over is reduced beside the first stage.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<20011xf32>
  %s = runtime.output %outputs[0] () : memref<f32>
  %m = runtime.output %outputs[1] () : memref<f32>
  // CHECK: %[[MAIN:.*]] = memref.subview %[[INPUT:.*]][0] [20010] [1]
  // CHECK: %[[X:.*]] = memref.expand_shape %[[MAIN]] {{.*}} output_shape [3, 6670]
  // CHECK: device.group reduce {
  // CHECK:   iterator_types = ["parallel", "reduction"]} ins(%[[X]] : {{.*}}) outs(%[[SUMS:.*]], %[[MOST:.*]] : memref<3xf32>, memref<3xf32>)
  // CHECK: %[[REST:.*]] = memref.subview %[[INPUT]][20010] [1] [1]
  // CHECK: device.group reduce {
  // CHECK-NEXT: linalg.generic {{.*}} ins(%[[REST]] : {{.*}}) outs(%[[S:.*]], %[[M:.*]] : memref<f32>, memref<f32>)
  // CHECK: device.group reduce {
  // CHECK-NEXT: linalg.generic {{.*}} ins(%[[SUMS]], %[[MOST]] : memref<3xf32>, memref<3xf32>) outs(%[[S]], %[[M]] : memref<f32>, memref<f32>)
  // CHECK:   arith.addf
  // CHECK:   arith.maximumf
  device.group reduce {
    linalg.generic {indexing_maps = [#id, #none, #none], iterator_types = ["reduction"]} ins(%x : memref<20011xf32>) outs(%s, %m : memref<f32>, memref<f32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %0 = arith.addf %a, %b : f32
      %1 = arith.maximumf %a, %c : f32
      linalg.yield %0, %1 : f32, f32
    }
  }
  return %ok : i32
}

// -----

// Sums for each channel: a piece for each of the images. An index is that of
// the point, not of its place in the piece.

#id = affine_map<(n, c, i) -> (n, c, i)>
#channel = affine_map<(n, c, i) -> (c)>
// CHECK-DAG: #[[$CHANNEL:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<16x8x4096xindex>
  %y = runtime.output %outputs[0] () : memref<8xindex>
  // CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[$CHANNEL]]], iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}} : memref<16x8x4096xindex>) outs(%{{.*}} : memref<16x8xindex>)
  // CHECK: linalg.index 2
  // CHECK: iterator_types = ["reduction", "parallel"]} ins(%{{.*}} : memref<16x8xindex>) outs(%{{.*}} : memref<8xindex>)
  device.group reduce {
    linalg.generic {indexing_maps = [#id, #channel], iterator_types = ["reduction", "parallel", "reduction"]} ins(%x : memref<16x8x4096xindex>) outs(%y : memref<8xindex>) {
    ^bb0(%a: index, %b: index):
      %i = linalg.index 2 : index
      %p = arith.muli %a, %i : index
      %0 = arith.addi %p, %b : index
      linalg.yield %0 : index
    }
  }
  return %ok : i32
}

// -----

// Enough blocks, few points, or results that cannot be combined: as it is.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<512x20000xf32>
  %w = runtime.input %inputs[1] : memref<500x8xf32>
  %r = runtime.output %outputs[0] () : memref<512xf32>
  %c = runtime.output %outputs[1] () : memref<20000xf32>
  %s = runtime.output %outputs[2] () : memref<8xf32>
  // CHECK-COUNT-3: device.group reduce
  // CHECK-NOT: device.group
  device.group reduce {
    linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<512x20000xf32>) outs(%r : memref<512xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  device.group reduce {
    linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<512x20000xf32>) outs(%c : memref<20000xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  device.group reduce {
    linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%w : memref<500x8xf32>) outs(%s : memref<8xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// Few tiles and a long sum: partial products are a batch. There are many, so
// that their sum is a reduction; a map applies the epilogue.

#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#bias = affine_map<(m, n, k) -> (n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<8192x64xf32>
  %w = runtime.input %inputs[1] : memref<8192x32xf32>
  %v = runtime.input %inputs[2] : memref<32xf32>
  %y = runtime.output %outputs[0] () : memref<64x32xf32>
  // CHECK: memref.expand_shape %{{.*}} {{\[\[0, 1\], \[2\]\]}} output_shape [64, 128, 64]
  // CHECK: memref.expand_shape %{{.*}} {{\[\[0, 1\], \[2\]\]}} output_shape [64, 128, 32]
  // CHECK: device.group contract {
  // CHECK-NEXT: kernel.contract {{.*}} ins(%{{.*}} : memref<64x128x64xf32>, memref<64x128x32xf32>) outs(%[[PARTIAL:.*]] : memref<64x64x32xf32>)
  // CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32):
  // CHECK-NEXT: kernel.yield %[[SUM]]
  // CHECK: device.group reduce {
  // CHECK:   iterator_types = ["reduction", "parallel", "parallel"]} ins(%[[PARTIAL]] : memref<64x64x32xf32>) outs(%[[TOTAL:.*]] : memref<64x32xf32>)
  // CHECK: device.group elementwise {
  // CHECK:   ins(%[[TOTAL]], %{{.*}} : memref<64x32xf32>, memref<32xf32>) outs(%{{.*}} : memref<64x32xf32>)
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #bias, #c]} ins(%x, %w : memref<8192x64xf32>, memref<8192x32xf32>) extra(%v : memref<32xf32>) outs(%y : memref<64x32xf32>) {
    ^bb0(%sum: f32, %e: f32):
      %0 = arith.addf %sum, %e : f32
      kernel.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// The gradient of a convolution's weights: each image is a piece. Eight partial
// products are added by the map.

#a = affine_map<(f, c, k, n, i) -> (n, f, i)>
#b = affine_map<(f, c, k, n, i) -> (n, c, i + k - 1)>
#c = affine_map<(f, c, k, n, i) -> (f, c, k)>
// CHECK-DAG: #[[$A:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d4)>
// CHECK-DAG: #[[$B:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d3, d1, d2 + d4 - 1)>
// CHECK-DAG: #[[$C:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d2)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<8x16x4096xbf16>
  %w = runtime.input %inputs[1] : memref<8x16x4096xbf16>
  %y = runtime.output %outputs[0] () : memref<16x16x3xf32>
  // CHECK: kernel.contract {indexing_maps = [#[[$A]], #[[$B]], #[[$C]]]} ins(%{{.*}} : memref<8x16x4096xbf16>, memref<8x16x4096xbf16>) outs(%[[PARTIAL:.*]] : memref<8x16x16x3xf32>)
  // CHECK: device.group elementwise {
  // CHECK-NEXT: linalg.generic
  // CHECK-COUNT-7: arith.addf
  // CHECK-NOT: arith.addf
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %w : memref<8x16x4096xbf16>, memref<8x16x4096xbf16>) outs(%y : memref<16x16x3xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return %ok : i32
}

// -----

// Enough tiles, or a short sum: as it is.

#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<2048x1024xbf16>
  %y = runtime.output %outputs[0] () : memref<1024x1024xf32>
  %w = runtime.input %inputs[1] : memref<256x64xbf16>
  %z = runtime.output %outputs[1] () : memref<64x64xf32>
  // CHECK-COUNT-2: device.group contract
  // CHECK-NOT: device.group
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %x : memref<2048x1024xbf16>, memref<2048x1024xbf16>) outs(%y : memref<1024x1024xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%w, %w : memref<256x64xbf16>, memref<256x64xbf16>) outs(%z : memref<64x64xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return %ok : i32
}

// -----

// A few partial results are reduced by the block that needs the result.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#point = affine_map<() -> ()>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<65536xf32>
  %s = runtime.output %outputs[0] () : memref<f32>
  %y = runtime.output %outputs[1] () : memref<f32>
  // CHECK: device.group reduce {
  // CHECK:   outs(%[[PARTIAL:.*]] : memref<16xf32>)
  // CHECK: device.group single_block {
  // CHECK-NEXT: linalg.generic {{.*}} ["reduction"]} ins(%[[PARTIAL]] : memref<16xf32>) outs(%[[S:.*]] : memref<f32>)
  // CHECK: linalg.generic {{.*}} ins(%[[S]] : memref<f32>)
  // CHECK-NOT: device.group
  device.group reduce {
    linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%x : memref<65536xf32>) outs(%s : memref<f32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  device.group single_block {
    linalg.generic {indexing_maps = [#point, #point], iterator_types = []} ins(%s : memref<f32>) outs(%y : memref<f32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.negf %a : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// A sum of columns that are rows of a group next to it becomes a part of that
// group: 64 blocks of 16 rows each leave partial results, which the second stage
// adds up. The sum of other memory is a group of its own, as before.

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
#r = affine_map<(i) -> (i)>
#s = affine_map<(i) -> ()>
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = runtime.input %{{.*}}[0] : memref<1024x96xf32>
// CHECK: %[[SUM:.*]] = runtime.output %{{.*}}[0]
// CHECK: device.group row_wise {
// CHECK:   scf.forall (%[[BLOCK:.*]]) in (64) {
// CHECK:     %[[PART:.*]] = memref.subview %[[PLACE:.*]][%[[BLOCK]], 0] [1, 96] [1, 1] : memref<64x96xf32> to memref<96xf32
// CHECK:     linalg.generic {{.*}} outs(%[[PART]]
// CHECK:     scf.for {{.*}} to %c16
// CHECK:       %[[ROW:.*]] = memref.subview %[[X]]
// CHECK:       linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[ROW]] : {{.*}}) outs(%[[PART]]
// CHECK:         arith.addf
// CHECK: device.group reduce {
// CHECK:   linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[PLACE]] : memref<64x96xf32>) outs(%[[SUM]] : memref<96xf32>)
// CHECK-NOT: 1024x96
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<1024x96xf32>
  %sum = runtime.output %outputs[0] () : memref<96xf32>
  %y = runtime.output %outputs[1] () : memref<1024x96xf32>
  device.group row_wise {
    scf.forall (%i) in (1024) {
      %row = memref.subview %x[%i, 0] [1, 96] [1, 1] : memref<1024x96xf32> to memref<1x96xf32, strided<[96, 1], offset: ?>>
      %out = memref.subview %y[%i, 0] [1, 96] [1, 1] : memref<1024x96xf32> to memref<1x96xf32, strided<[96, 1], offset: ?>>
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%row : memref<1x96xf32, strided<[96, 1], offset: ?>>) outs(%out : memref<1x96xf32, strided<[96, 1], offset: ?>>) {
      ^bb0(%a: f32, %b: f32):
        %0 = math.exp %a : f32
        linalg.yield %0 : f32
      }
    }
  }
  device.group reduce {
    linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<1024x96xf32>) outs(%sum : memref<96xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %b, %a : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// Rows that overwrite what the sum before them reads keep it apart.

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func.func @main
// CHECK: device.group reduce {
// CHECK: device.group row_wise {
// CHECK-NEXT: scf.forall {{.*}} in (1024)
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<1024x96xf32>
  %sum = runtime.output %outputs[0] () : memref<96xf32>
  device.group reduce {
    linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<1024x96xf32>) outs(%sum : memref<96xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %b, %a : f32
      linalg.yield %0 : f32
    }
  }
  device.group row_wise {
    scf.forall (%i) in (1024) {
      %row = memref.subview %x[%i, 0] [1, 96] [1, 1] : memref<1024x96xf32> to memref<1x96xf32, strided<[96, 1], offset: ?>>
      linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%row : memref<1x96xf32, strided<[96, 1], offset: ?>>) {
      ^bb0(%b: f32):
        %0 = math.exp %b : f32
        linalg.yield %0 : f32
      }
    }
  }
  return %ok : i32
}
