// RUN: mp-opt %s --mp-settle-memory | FileCheck %s

// CHECK-LABEL: func.func @loop
func.func @loop(%init: memref<4xf32>, %out: memref<4xf32>, %n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[PLACE:.*]] = memref.alloc() : memref<4xf32>
  // CHECK: memref.copy %{{.*}}, %[[PLACE]]
  // CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32) {
  %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%m = %init, %s = %x) -> (memref<4xf32>, f32) {
    %new = memref.alloc() : memref<4xf32>
    // CHECK: memref.load %[[PLACE]]
    %v = memref.load %m[%c0] : memref<4xf32>
    memref.store %v, %new[%c1] : memref<4xf32>
    %t = arith.addf %s, %v : f32
    // CHECK: memref.copy %{{.*}}, %[[PLACE]]
    // CHECK-NEXT: scf.yield %{{.*}} : f32
    scf.yield %new, %t : memref<4xf32>, f32
  }
  // CHECK: memref.copy %[[PLACE]], %{{.*}}
  memref.copy %0#0, %out : memref<4xf32> to memref<4xf32>
  // CHECK: return %[[SUM]]
  return %0#1 : f32
}

// Two states change places: both are read before one is written.
// CHECK-LABEL: func.func @swap
func.func @swap(%a: memref<4xf32>, %b: memref<4xf32>, %n: index) -> (memref<4xf32>, memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[P:.*]] = memref.alloc()
  // CHECK: %[[Q:.*]] = memref.alloc()
  // CHECK: scf.for
  // CHECK: %[[T:.*]] = memref.alloc()
  // CHECK: memref.copy %[[Q]], %[[T]]
  // CHECK: %[[U:.*]] = memref.alloc()
  // CHECK: memref.copy %[[P]], %[[U]]
  // CHECK: memref.copy %[[T]], %[[P]]
  // CHECK: memref.copy %[[U]], %[[Q]]
  %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %b) -> (memref<4xf32>, memref<4xf32>) {
    scf.yield %q, %p : memref<4xf32>, memref<4xf32>
  }
  // CHECK: return %[[P]], %[[Q]]
  return %0#0, %0#1 : memref<4xf32>, memref<4xf32>
}

// CHECK-LABEL: func.func @branch
func.func @branch(%a: memref<4xf32>, %b: memref<4xf32>, %c: i1) -> memref<4xf32> {
  // CHECK: %[[P:.*]] = memref.alloc()
  // CHECK: scf.if
  // CHECK-NEXT: memref.copy %{{.*}}, %[[P]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: memref.copy %{{.*}}, %[[P]]
  %0 = scf.if %c -> memref<4xf32> {
    scf.yield %a : memref<4xf32>
  } else {
    scf.yield %b : memref<4xf32>
  }
  // CHECK: return %[[P]]
  return %0 : memref<4xf32>
}

// CHECK-LABEL: func.func @while
func.func @while(%a: memref<4xf32>, %c: i1) -> memref<4xf32> {
  %c0 = arith.constant 0 : index
  // CHECK: %[[P:.*]] = memref.alloc()
  // CHECK: memref.copy %{{.*}}, %[[P]]
  // CHECK: scf.while
  %0 = scf.while (%m = %a) : (memref<4xf32>) -> memref<4xf32> {
    scf.condition(%c) %m : memref<4xf32>
  } do {
  ^bb0(%m: memref<4xf32>):
    %new = memref.alloc() : memref<4xf32>
    // CHECK: memref.load %[[P]]
    %v = memref.load %m[%c0] : memref<4xf32>
    memref.store %v, %new[%c0] : memref<4xf32>
    // CHECK: memref.copy %{{.*}}, %[[P]]
    scf.yield %new : memref<4xf32>
  }
  // CHECK: return %[[P]]
  return %0 : memref<4xf32>
}
