// RUN: mp-opt %s --mp-insert-stamps | FileCheck %s

// Kernels are what writes memory, not what reserves it. The product's node is
// the first of those that were fused, and the others are known from what they
// compute. A loop of unknown sizes is timed, but not counted.

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#place = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#mm = loc("node 'mm' (MatMul-13)")
#relu = loc("node 'relu' (Relu-14)")
#sum = loc("node 'sum' (ReduceSum-13)")
#dynamic = loc("node 'dynamic' (Neg-13)")

// CHECK:      module attributes {mp.stamped = [
// CHECK-SAME: {nodes = ["node 'mm' (MatMul-13)", "node 'relu' (Relu-14)"],
// CHECK-SAME:  work = #device.work<kind = product, read = 3072, written = 512, fma = 4096, operations = 256>}
// CHECK-SAME: {nodes = ["node 'sum' (ReduceSum-13)"],
// CHECK-SAME:  work = #device.work<kind = sum, read = 544, written = 32, operations = 128>}
// CHECK-SAME: {nodes = ["node 'dynamic' (Neg-13)"], work = #device.work<kind = map>}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  runtime.stamp 0
// CHECK:       kernel.contract
// CHECK:       runtime.stamp 1
// CHECK-NEXT:  linalg.generic
// CHECK:       runtime.stamp 2
// CHECK-NEXT:  linalg.generic
// CHECK:       runtime.stamp 3
// CHECK-NEXT:  return
func.func @main(%a: memref<8x32xf32>, %b: memref<32x16xf32>, %s: memref<8xf32>, %d: memref<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  %y = memref.alloc() : memref<8x16xf32>
  kernel.contract {indexing_maps = [#rows, #columns, #place]}
      ins(%a, %b : memref<8x32xf32>, memref<32x16xf32>) outs(%y : memref<8x16xf32>) {
  ^bb0(%sum: f32):
    %0 = arith.addf %sum, %sum : f32 loc(#relu)
    %1 = arith.maximumf %0, %zero : f32 loc(#relu)
    kernel.yield %1 : f32
  } loc(fused[#mm, #relu])
  linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]}
      ins(%y : memref<8x16xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%x: f32, %out: f32):
    %0 = arith.addf %x, %out : f32
    linalg.yield %0 : f32
  } loc(#sum)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%d : memref<?x?xf32>) outs(%d : memref<?x?xf32>) {
  ^bb0(%x: f32, %out: f32):
    %0 = arith.negf %x : f32
    linalg.yield %0 : f32
  } loc(#dynamic)
  return
}
