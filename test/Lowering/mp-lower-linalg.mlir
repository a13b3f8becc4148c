// RUN: mp-opt %s --mp-lower-linalg | FileCheck %s

#rows = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
#row = affine_map<(i, j) -> (i)>

// Dimensions that are contiguous everywhere are one, in ranges of a fixed length.
// CHECK-LABEL: @flat
// CHECK: %[[X:.*]] = memref.collapse_shape %{{.*}} : memref<512x512xf32> into memref<262144xf32>
// CHECK: runtime.parallel %c262144 by %c16384
// CHECK: scf.for %[[I:.*]] =
// CHECK-NEXT: memref.load %[[X]][%[[I]]]
// CHECK-NEXT: math.exp
// CHECK-NEXT: memref.store
func.func @flat(%x: memref<512x512xf32>, %y: memref<512x512xf32>) {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<512x512xf32>) outs(%y : memref<512x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  }
  return
}

// Not worth a second thread: one range.
// CHECK-LABEL: @small
// CHECK: runtime.parallel %c16 by %c16
// CHECK: scf.for
func.func @small(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// Not worth a function.
// CHECK-LABEL: @tiny
// CHECK-NOT: runtime.parallel
// CHECK: scf.for
func.func @tiny(%x: memref<2x4xf32>, %y: memref<2x4xf32>) {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<2x4xf32>) outs(%y : memref<2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// Along contiguous memory, the sum stays in registers, and may be taken in any
// order.
// CHECK-LABEL: @sum_of_rows
// CHECK: runtime.parallel %c512 by %c32
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args
// CHECK: arith.addf {{.*}} fastmath<reassoc>
// CHECK: memref.store %[[SUM]]
func.func @sum_of_rows(%x: memref<512x512xf32>, %y: memref<512xf32>) {
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<512x512xf32>) outs(%y : memref<512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// Across it, rows are added to a block of sums, eight at a time.
// CHECK-LABEL: @sum_of_columns
// CHECK: runtime.parallel
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c512{{.*}} step %c8
// CHECK: scf.for %[[J:.*]] =
// CHECK: memref.load %{{.*}}[%[[I]], %[[J]]]
// CHECK: memref.load %[[Y:.*]][%[[J]]]
// CHECK: %[[SEVENTH:.*]] = arith.addi %[[I]], %c7
// CHECK: memref.load %{{.*}}[%[[SEVENTH]], %[[J]]]
// CHECK: memref.store %{{.*}}, %[[Y]][%[[J]]]
// CHECK-NOT: memref.load
// CHECK: return
func.func @sum_of_columns(%x: memref<512x512xf32>, %y: memref<512xf32>) {
  linalg.generic {indexing_maps = [#rows, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<512x512xf32>) outs(%y : memref<512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// A step of ArgMax is comparisons and selects: of NaN, the first is kept.
// CHECK-LABEL: @first
// CHECK: %[[X:.*]] = memref.load %{{.*}} : memref<8xf32>
// CHECK: %[[GREATER:.*]] = arith.cmpf ogt, %[[X]], %[[BEST:.*]] : f32
// CHECK: %[[NAN:.*]] = arith.cmpf une, %[[X]], %[[X]] : f32
// CHECK: %[[NUMBER:.*]] = arith.cmpf oeq, %[[BEST]], %[[BEST]] : f32
// CHECK: %[[FIRST:.*]] = arith.andi %[[NAN]], %[[NUMBER]] : i1
// CHECK: %[[BETTER:.*]] = arith.ori %[[GREATER]], %[[FIRST]] : i1
// CHECK: arith.select %[[BETTER]], %[[X]], %[[BEST]] : f32
// CHECK: arith.select %[[BETTER]], %{{.*}} : i64
func.func @first(%x: memref<8xf32>, %v: memref<f32>, %i: memref<i64>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<8xf32>) outs(%v, %i : memref<f32>, memref<i64>) {
  ^bb0(%a: f32, %best: f32, %place: i64):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i64
    %2:2 = kernel.arg_select gt %a, %1 over %best, %place : f32, i64
    linalg.yield %2#0, %2#1 : f32, i64
  }
  return
}

// CHECK-LABEL: @last_of_naturals
// CHECK: arith.cmpi ule
// CHECK-NOT: arith.cmp
// CHECK: arith.select
// CHECK: arith.select
func.func @last_of_naturals(%a: i8, %i: i64, %best: i8, %place: i64) -> (i8, i64) {
  %0:2 = kernel.arg_select le unsigned %a, %i over %best, %place : i8, i64
  return %0#0, %0#1 : i8, i64
}
