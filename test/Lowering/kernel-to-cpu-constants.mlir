// RUN: kernel-opt %s --mp-set-target=isa=avx512 --kernel-select-strategy --kernel-outline-contracts --kernel-to-cpu --canonicalize --cse | FileCheck %s

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// CHECK: module attributes {mp.kept = 3 : i64,

// Contractions of constants share a function, those of one constant a slot; those
// of what may change have another function.
// CHECK-LABEL: func.func @columns
// CHECK: call @[[$COLUMNS:kernel_contract[_0-9]*]](%{{.*}}, %{{.*}}, %{{.*}}, %c0) :
// CHECK: call @[[$COLUMNS]](%{{.*}}, %{{.*}}, %{{.*}}, %c1) :
// CHECK: call @[[$COLUMNS]](%{{.*}}, %{{.*}}, %{{.*}}, %c0) :
// CHECK: call @[[$PACKED:kernel_contract[_0-9]*]](%{{.*}}, %{{.*}}, %{{[a-z0-9_]*}}) :
func.func @columns(%a: memref<?x64xf32>, %b: memref<64x96xf32>, %c: memref<?x96xf32>,
                   %e: memref<64x96xf32>) {
  kernel.contract {indexing_maps = [#rows, #columns, #out], kernel.constant = 1}
      ins(%a, %b : memref<?x64xf32>, memref<64x96xf32>) outs(%c : memref<?x96xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#rows, #columns, #out], kernel.constant = 1}
      ins(%a, %e : memref<?x64xf32>, memref<64x96xf32>) outs(%c : memref<?x96xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#rows, #columns, #out], kernel.constant = 1}
      ins(%a, %b : memref<?x64xf32>, memref<64x96xf32>) outs(%c : memref<?x96xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%a, %b : memref<?x64xf32>, memref<64x96xf32>) outs(%c : memref<?x96xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

#filters = affine_map<(f, i, c) -> (f, c)>
#image = affine_map<(f, i, c) -> (c, i)>
#result = affine_map<(f, i, c) -> (f, i)>

// CHECK-LABEL: func.func @rows
// CHECK: call @[[$ROWS:kernel_contract[_0-9]*]](%{{.*}}, %{{.*}}, %{{.*}}, %c2) :
func.func @rows(%x: memref<48x?xf32>, %w: memref<64x48xf32>, %y: memref<64x?xf32>) {
  kernel.contract {indexing_maps = [#image, #filters, #result], kernel.constant = 1}
      ins(%x, %w : memref<48x?xf32>, memref<64x48xf32>) outs(%y : memref<64x?xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// No slots where there are batches, where columns are read in place, and where
// how much is packed is known only in a call.
// CHECK-LABEL: func.func @batches
// CHECK: call @kernel_contract{{[_0-9]*}}(%{{[a-z0-9_]*}}, %{{[a-z0-9_]*}}, %{{[a-z0-9_]*}}) :
func.func @batches(%a: memref<?x64x64xf32>, %b: memref<?x64x96xf32>, %c: memref<?x64x96xf32>) {
  kernel.contract {indexing_maps = [
      affine_map<(g, m, n, k) -> (g, m, k)>, affine_map<(g, m, n, k) -> (g, k, n)>,
      affine_map<(g, m, n, k) -> (g, m, n)>], kernel.constant = 1}
      ins(%a, %b : memref<?x64x64xf32>, memref<?x64x96xf32>) outs(%c : memref<?x64x96xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// CHECK-LABEL: func.func @in_place
// CHECK: call @kernel_contract{{[_0-9]*}}(%{{[a-z0-9_]*}}, %{{[a-z0-9_]*}}, %{{[a-z0-9_]*}}) :
func.func @in_place(%a: memref<4x8xf32>, %b: memref<8x600xf32>, %c: memref<4x600xf32>) {
  kernel.contract {indexing_maps = [#rows, #columns, #out], kernel.constant = 1}
      ins(%a, %b : memref<4x8xf32>, memref<8x600xf32>) outs(%c : memref<4x600xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// CHECK-LABEL: func.func @unknown_size
// CHECK: call @kernel_contract{{[_0-9]*}}(%{{[a-z0-9_]*}}, %{{[a-z0-9_]*}}, %{{[a-z0-9_]*}}) :
func.func @unknown_size(%a: memref<100xf32>, %b: memref<64x96xf32>, %c: memref<?x96xf32>) {
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m + k)>, #columns, #out],
                   kernel.constant = 0}
      ins(%a, %b : memref<100xf32>, memref<64x96xf32>) outs(%c : memref<?x96xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// Columns are packed by the first call, and read where they are kept.
// CHECK: func.func private @[[$COLUMNS]](
// CHECK-SAME: %[[SLOT:[a-z0-9]*]]: index) {
// CHECK: %[[MEMORY:.*]], %[[THERE:.*]] = runtime.cache_lookup %[[SLOT]], %{{.*}} : memref<?xf32>
// CHECK: scf.if %[[THERE]] -> (memref<?xf32>) {
// CHECK-NEXT: scf.yield %[[MEMORY]]
// CHECK-NEXT: } else {
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK: scf.parallel
// CHECK: %[[KEPT:.*]] = runtime.cache_insert %[[SLOT]], %[[NEW]] : memref<?xf32>
// CHECK: scf.yield %[[KEPT]]
// CHECK: scf.parallel
// CHECK-NOT: runtime.scratch 0
// CHECK: func.func private @[[$PACKED]](
// CHECK-NOT: runtime.cache_lookup
// CHECK: runtime.scratch 0

// Rows: a call frees nothing.
// CHECK: func.func private @[[$ROWS]](
// CHECK: runtime.cache_lookup
// CHECK: runtime.cache_insert
// CHECK-NOT: memref.dealloc
// CHECK: func.func
// CHECK-NOT: runtime.cache_lookup
