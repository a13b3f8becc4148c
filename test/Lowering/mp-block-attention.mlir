// RUN: mp-opt %s --mp-block-attention | FileCheck %s

#q = affine_map<(b, m, n, d, e) -> (b, m, d)>
#k = affine_map<(b, m, n, d, e) -> (b, n, d)>
#v = affine_map<(b, m, n, d, e) -> (b, n, e)>
#o = affine_map<(b, m, n, d, e) -> (b, m, e)>
#row = affine_map<(b, m, n, d, e) -> (b, m)>
#hidden = affine_map<(b, m, n, d, e) -> (0, n)>

// Of 6 heads, 2 are computed at a time, of 1000 queries 128. The scale and the
// mask are a part of the product, the sums of rows divide results.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[Q:[^:]*]]: memref<6x1000x64xf32>, %[[K:[^:]*]]: memref<6x2048x64xf32>
// CHECK: %[[S:.*]] = memref.alloc() : memref<2x128x2048xf32>
// CHECK-NOT: memref.alloc
// CHECK: scf.for %[[BATCH:.*]] = %c0{{.*}} to %c6{{.*}} step %c2
// CHECK: scf.for %[[QUERY:.*]] = %c0{{.*}} to %c896{{.*}} step %c128
// CHECK: %[[BLOCK:[^ ]*]] = memref.subview %[[Q]][%[[BATCH]], %[[QUERY]], 0] [2, 128, 64]
// CHECK: memref.subview %[[K]][%[[BATCH]], 0, 0] [2, 2048, 64]
// CHECK: kernel.contract {{.*}} ins(%[[BLOCK]],
// CHECK: arith.addf
// CHECK: runtime.parallel
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: arith.addf
// CHECK-NOT: arith.divf
// CHECK: kernel.contract
// CHECK: arith.divf
// The last 104 queries.
// CHECK: memref.subview %[[Q]][%[[BATCH]], 896, 0] [2, 104, 64]
// CHECK: memref.dealloc %[[S]]
func.func @forward(%q: memref<6x1000x64xf32>, %k: memref<6x2048x64xf32>, %v: memref<6x2048x64xf32>, %mask: memref<1x2048xf32>, %o: memref<6x1000x64xf32>, %max: memref<6x1000xf32>, %sum: memref<6x1000xf32>) {
  %scale = arith.constant 0.125 : f32
  kernel.attention {indexing_maps = [#q, #k, #v, #hidden, #o, #row, #row]}
      ins(%q, %k, %v, %mask : memref<6x1000x64xf32>, memref<6x2048x64xf32>, memref<6x2048x64xf32>, memref<1x2048xf32>)
      outs(%o, %max, %sum : memref<6x1000x64xf32>, memref<6x1000xf32>, memref<6x1000xf32>) {
  ^bb0(%s: f32, %p: f32, %x: f32, %hidden: f32, %b: index, %m: index, %n: index):
    %0 = arith.mulf %s, %scale : f32
    %1 = arith.addf %0, %hidden : f32
    kernel.yield %1, %p, %x : f32, f32, f32
  }
  return
}

// Keys behind the last query of a block are left out. Weights are rounded to
// memory of their own.
// CHECK-LABEL: func.func @causal
// CHECK-DAG: memref.alloc() : memref<1x128x1024xf32>
// CHECK-DAG: memref.alloc() : memref<1x128x1024xbf16>
// CHECK: scf.for %[[QUERY:.*]] = %c0{{.*}} to %c1024{{.*}} step %c128
// CHECK: %[[KEYS:.*]] = arith.select
// CHECK: memref.subview %{{.*}}[0, 0, 0] [1, %[[KEYS]], 64]
// CHECK: kernel.contract
// CHECK: runtime.parallel
// CHECK: arith.cmpi sle
// CHECK: math.exp
// CHECK: arith.truncf
func.func @causal(%q: memref<1x1024x64xbf16>, %k: memref<1x1024x64xbf16>, %v: memref<1x1024x64xbf16>, %o: memref<1x1024x64xbf16>, %max: memref<1x1024xf32>, %sum: memref<1x1024xf32>) {
  %least = arith.constant 0xFF800000 : f32
  kernel.attention {indexing_maps = [#q, #k, #v, #o, #row, #row]}
      ins(%q, %k, %v : memref<1x1024x64xbf16>, memref<1x1024x64xbf16>, memref<1x1024x64xbf16>)
      outs(%o, %max, %sum : memref<1x1024x64xbf16>, memref<1x1024xf32>, memref<1x1024xf32>) {
  ^bb0(%s: f32, %p: f32, %x: f32, %b: index, %m: index, %n: index):
    %0 = arith.cmpi sle, %n, %m : index
    %1 = arith.select %0, %s, %least : f32
    %2 = arith.truncf %p : f32 to bf16
    %3 = arith.truncf %x : f32 to bf16
    kernel.yield %1, %2, %3 : f32, bf16, bf16
  }
  return
}

// The gradients of keys and values are sums over blocks, finished at the end.
// CHECK-LABEL: func.func @gradient
// CHECK: %[[S:.*]] = memref.alloc() : memref<1x128x4096xf32>
// CHECK: %[[D:.*]] = memref.alloc() : memref<1x128x4096xf32>
// CHECK: %[[DK:.*]] = memref.alloc() : memref<1x4096x64xf32>
// CHECK: %[[DV:.*]] = memref.alloc() : memref<1x4096x32xf32>
// CHECK: linalg.fill {{.*}} outs(%[[DK]]
// CHECK: linalg.fill {{.*}} outs(%[[DV]]
// CHECK: scf.for
// CHECK: kernel.contract
// CHECK: kernel.contract
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: arith.divf
// CHECK: %[[SUM:.*]] = memref.subview %[[DV]]
// CHECK: kernel.contract {{.*}} extra(%[[SUM]] : {{.*}} outs(%[[SUM]] :
// CHECK: %[[SUM2:.*]] = memref.subview %[[DK]]
// CHECK: kernel.contract {{.*}} extra(%[[SUM2]] : {{.*}} outs(%[[SUM2]] :
// CHECK: kernel.contract
// CHECK: }
// CHECK: linalg.generic
// CHECK: linalg.generic
func.func @gradient(%q: memref<2x4096x64xf32>, %k: memref<2x4096x64xf32>, %v: memref<2x4096x32xf32>, %g: memref<2x4096x32xf32>, %max: memref<2x4096xf32>, %sum: memref<2x4096xf32>, %inner: memref<2x4096xf32>, %dq: memref<2x4096x64xf32>, %dk: memref<2x4096x64xf32>, %dv: memref<2x4096x32xf32>) {
  kernel.attention_gradient {indexing_maps = [#q, #k, #v, #o, #row, #row, #row, #q, #k, #v]}
      ins(%q, %k, %v, %g, %max, %sum, %inner : memref<2x4096x64xf32>, memref<2x4096x64xf32>, memref<2x4096x32xf32>, memref<2x4096x32xf32>, memref<2x4096xf32>, memref<2x4096xf32>, memref<2x4096xf32>)
      outs(%dq, %dk, %dv : memref<2x4096x64xf32>, memref<2x4096x64xf32>, memref<2x4096x32xf32>) {
  ^bb0(%s: f32, %p: f32, %dp: f32, %mean: f32, %x: f32, %b: index, %m: index, %n: index):
    %0 = arith.subf %dp, %mean : f32
    %1 = arith.mulf %p, %0 : f32
    kernel.yield %s, %p, %1, %x, %x, %x : f32, f32, f32, f32, f32, f32
  }
  return
}
