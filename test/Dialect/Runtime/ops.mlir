// RUN: mp-opt %s | mp-opt - | FileCheck %s
// RUN: mp-opt %s --mlir-print-op-generic | mp-opt - | FileCheck %s

// CHECK-LABEL: func.func @scratch
// CHECK: runtime.scratch 2, %{{.*}} : memref<?xi8>
func.func @scratch(%bytes: index) -> memref<?xi8> {
  %0 = runtime.scratch 2, %bytes : memref<?xi8>
  return %0 : memref<?xi8>
}

// CHECK-LABEL: func.func @cache
// CHECK: %[[MEMORY:.*]], %[[THERE:.*]] = runtime.cache_lookup %[[ENTRY:.*]], %{{.*}} : memref<?xf32>
// CHECK: runtime.cache_insert %[[ENTRY]], %{{.*}} : memref<?xf32>
func.func @cache(%entry: index, %count: index) -> memref<?xf32> {
  %memory, %there = runtime.cache_lookup %entry, %count : memref<?xf32>
  %result = scf.if %there -> memref<?xf32> {
    scf.yield %memory : memref<?xf32>
  } else {
    %new = memref.alloc(%count) : memref<?xf32>
    %kept = runtime.cache_insert %entry, %new : memref<?xf32>
    scf.yield %kept : memref<?xf32>
  }
  return %result : memref<?xf32>
}

// CHECK-LABEL: func.func @parallel
// CHECK: runtime.parallel %{{.*}} by %{{.*}} {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index):
// CHECK: runtime.draw 42
// CHECK: runtime.fail "found %0, expected %1"(%{{.*}}, %{{.*}}) parallel
func.func @parallel(%count: index, %grain: index) {
  runtime.parallel %count by %grain {
  ^bb0(%begin: index, %end: index):
    %0 = runtime.draw 42
    runtime.fail "found %0, expected %1"(%begin, %end) parallel
  }
  return
}

// CHECK-LABEL: func.func @collectives
// CHECK: runtime.collective_start %{{.*}}, %{{.*}} if %{{.*}} bucket 2 {kind = 1 : i32} : memref<4xf32>, memref<?xf32>
// CHECK: runtime.collective_start %{{.*}} rows %{{.*}} : memref<2xi64>, bucket 3 : memref<4xf32>
// CHECK: runtime.collective_wait %{{.*}}, %{{.*}} if %{{.*}} bucket 2 : memref<4xf32>, memref<?xf32>
// CHECK: runtime.collective_wait %{{.*}} bucket 3 : memref<4xf32>
func.func @collectives(%a: memref<4xf32>, %b: memref<?xf32>, %c: memref<4xf32>, %i: memref<2xi64>, %if: i1) {
  runtime.collective_start %a, %b if %if bucket 2 {kind = 1 : i32} : memref<4xf32>, memref<?xf32>
  runtime.collective_start %c rows %i : memref<2xi64>, bucket 3 : memref<4xf32>
  runtime.collective_wait %a, %b if %if bucket 2 : memref<4xf32>, memref<?xf32>
  runtime.collective_wait %c bucket 3 : memref<4xf32>
  return
}
