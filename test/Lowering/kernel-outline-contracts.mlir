// RUN: kernel-opt %s --split-input-file --kernel-select-strategy --kernel-outline-contracts | FileCheck %s

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// Two products that differ in sizes are calls of one function, to which a
// constant that is packed once is known by its cache entry.
// CHECK: module attributes {mp.kept = 1 : i64}
// CHECK-LABEL: func.func @products
// CHECK: %[[A:.*]] = memref.cast %{{.*}} : memref<64x200xf32> to memref<?x?xf32>
// CHECK: call @[[$PLAIN:kernel_contract[_0-9]*]](%[[A]], %{{[a-z0-9_]*}}, %{{[a-z0-9_]*}}) :
// CHECK: call @[[$PLAIN]](
// CHECK: %[[ENTRY:.*]] = arith.constant 0 : index
// CHECK: call @[[$CACHED:kernel_contract[_0-9]*]](%{{.*}}, %[[ENTRY]]) :
// CHECK: func.func private @[[$PLAIN]](%{{.*}}: memref<?x?xf32>, %{{.*}}: memref<?x?xf32>, %{{.*}}: memref<?x?xf32>) {
// CHECK: kernel.contract {config = #kernel.config<strategy = blocked
// CHECK-SAME: kernel.in_bounds = [array<i1: true, true>, array<i1: true, true>, array<i1: true, true>]
// CHECK-SAME: kernel.least_sizes = array<i64: 0, 0, 0>
// CHECK: func.func private @[[$CACHED]](%{{.*}}, %{{.*}}: index) {
// CHECK: kernel.contract {config = #kernel.config<{{.*}}cached = rhs
func.func @products(%a: memref<64x200xf32>, %b: memref<200x100xf32>, %c: memref<64x100xf32>,
                    %d: memref<?x?xf32>, %e: memref<?x?xf32>, %f: memref<?x?xf32>) {
  kernel.contract {indexing_maps = [#lhs, #rhs, #out]}
      ins(%a, %b : memref<64x200xf32>, memref<200x100xf32>) outs(%c : memref<64x100xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#lhs, #rhs, #out]}
      ins(%d, %e : memref<?x?xf32>, memref<?x?xf32>) outs(%f : memref<?x?xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#lhs, #rhs, #out], kernel.constant = 1}
      ins(%a, %b : memref<64x200xf32>, memref<200x100xf32>) outs(%c : memref<64x100xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#place = affine_map<(m, n, k) -> (m, n)>

// A function gets one pointer for what it reads and writes in one place.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?xf32>, %[[B:[a-z0-9]+]]: memref<?x?xf32>, %[[W:[a-z0-9]+]]: memref<?x?xf32>
// CHECK: call @[[$UPDATE:kernel_contract[_0-9]*]](%[[A]], %[[B]], %[[W]]) :
// CHECK: func.func private @[[$UPDATE]](%{{[a-z0-9]+}}: memref<?x?xf32>, %{{[a-z0-9]+}}: memref<?x?xf32>, %[[BOTH:[a-z0-9]+]]: memref<?x?xf32>) {
// CHECK: kernel.contract {{.*}} extra(%[[BOTH]] : memref<?x?xf32>) outs(%[[BOTH]] : memref<?x?xf32>)
func.func @in_place(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %w: memref<?x?xf32>) {
  kernel.contract {indexing_maps = [#rows, #columns, #place, #place]}
      ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) extra(%w : memref<?x?xf32>)
      outs(%w : memref<?x?xf32>) {
  ^bb0(%sum: f32, %old: f32):
    %0 = arith.subf %old, %sum : f32
    kernel.yield %0 : f32
  }
  return
}
