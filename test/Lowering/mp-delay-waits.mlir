// RUN: mp-opt %s --mp-delay-waits | FileCheck %s
// RUN: mp-opt %s --mp-delay-waits=together | FileCheck %s --check-prefix=TOGETHER

// Other memory may be read and written meanwhile; a view of the same is no use
// yet, but what is done with it is.
// CHECK-LABEL: @wait
// CHECK-SAME: %[[G:.*]]: memref<8xf32>, %[[X:.*]]: memref<8xf32>, %[[Y:.*]]: memref<4xf32>
// CHECK: runtime.reduce_start %[[G]] bucket 0 of 1
// CHECK-NEXT: memref.copy %[[X]]
// CHECK-NEXT: %[[VIEW:.*]] = memref.subview %[[G]]
// CHECK-NEXT: runtime.reduce_wait %[[G]] bucket 0
// CHECK-NEXT: memref.copy %[[VIEW]], %[[Y]]
func.func @wait(%g: memref<8xf32>, %x: memref<8xf32>, %y: memref<4xf32>, %z: memref<8xf32>) {
  runtime.reduce_start %g bucket 0 of 1 : memref<8xf32>
  runtime.reduce_wait %g bucket 0 : memref<8xf32>
  memref.copy %x, %z : memref<8xf32> to memref<8xf32>
  %view = memref.subview %g[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  memref.copy %view, %y : memref<4xf32, strided<[1], offset: 4>> to memref<4xf32>
  return
}

// In a loop, and at the end.
// CHECK-LABEL: @inside
// CHECK: runtime.reduce_start %{{.*}} bucket 3 of 2
// CHECK-NEXT: runtime.reduce_start %{{.*}} bucket 3 of 2
// CHECK-NEXT: runtime.reduce_wait %[[A:.*]] bucket 3
// CHECK-NEXT: scf.for
// CHECK: runtime.reduce_wait %{{.*}} bucket 3
// CHECK-NEXT: return
func.func @inside(%a: memref<8xf32>, %b: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  runtime.reduce_start %a bucket 3 of 2 : memref<8xf32>
  runtime.reduce_wait %a bucket 3 : memref<8xf32>
  runtime.reduce_start %b bucket 3 of 2 : memref<8xf32>
  runtime.reduce_wait %b bucket 3 : memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %a[%i] : memref<8xf32>
  }
  return
}

// For a device, the members of a bucket start where the last is ready, and with
// all rows; waits follow the first. What starts behind a wait is waited for
// there.
// TOGETHER-LABEL: @members
// TOGETHER-SAME: %[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<8xf32>, %[[X:.*]]: memref<8xf32>, %{{.*}}: memref<2xi64>
// TOGETHER-NEXT: memref.copy %[[X]], %[[B]]
// TOGETHER-NEXT: runtime.reduce_start %[[A]] bucket 0 of 2 :
// TOGETHER-NEXT: runtime.reduce_start %[[B]] bucket 0 of 2 :
// TOGETHER-NEXT: runtime.reduce_wait %[[A]] bucket 0
// TOGETHER-NEXT: runtime.reduce_wait %[[B]] bucket 0
// TOGETHER-NEXT: memref.copy %[[A]], %[[X]]
// TOGETHER-NEXT: memref.copy %[[B]], %[[A]]
// TOGETHER-NEXT: runtime.reduce_start %[[X]] bucket 1 of 1
// TOGETHER-NEXT: runtime.reduce_wait %[[X]] bucket 1
// TOGETHER-NEXT: memref.copy %[[X]], %[[B]]
func.func @members(%a: memref<8xf32>, %b: memref<8xf32>, %x: memref<8xf32>, %i: memref<2xi64>) {
  runtime.reduce_start %a rows %i : memref<2xi64>, bucket 0 of 2 : memref<8xf32>
  memref.copy %x, %b : memref<8xf32> to memref<8xf32>
  runtime.reduce_start %b bucket 0 of 2 : memref<8xf32>
  runtime.reduce_wait %a bucket 0 : memref<8xf32>
  memref.copy %a, %x : memref<8xf32> to memref<8xf32>
  runtime.reduce_wait %b bucket 0 : memref<8xf32>
  memref.copy %b, %a : memref<8xf32> to memref<8xf32>
  runtime.reduce_start %x bucket 1 of 1 : memref<8xf32>
  runtime.reduce_wait %x bucket 1 : memref<8xf32>
  memref.copy %x, %b : memref<8xf32> to memref<8xf32>
  return
}

// A member that was ready in front of another wait starts behind that, and is
// waited for behind its start.
// TOGETHER-LABEL: @between
// TOGETHER-SAME: %[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<8xf32>, %[[S:.*]]: memref<8xf32>
// TOGETHER: runtime.reduce_start %[[S]] bucket 1 of 1
// TOGETHER-NEXT: runtime.reduce_wait %[[S]] bucket 1
// TOGETHER-NEXT: memref.copy %[[S]], %[[B]]
// TOGETHER-NEXT: runtime.reduce_start %[[A]] bucket 0 of 2
// TOGETHER-NEXT: runtime.reduce_start %[[B]] bucket 0 of 2
// TOGETHER-NEXT: runtime.reduce_wait %[[A]] bucket 0
// TOGETHER-NEXT: runtime.reduce_wait %[[B]] bucket 0
func.func @between(%a: memref<8xf32>, %b: memref<8xf32>, %s: memref<8xf32>) {
  runtime.reduce_start %a bucket 0 of 2 : memref<8xf32>
  runtime.reduce_start %s bucket 1 of 1 : memref<8xf32>
  runtime.reduce_wait %s bucket 1 : memref<8xf32>
  memref.copy %s, %b : memref<8xf32> to memref<8xf32>
  runtime.reduce_start %b bucket 0 of 2 : memref<8xf32>
  runtime.reduce_wait %a bucket 0 : memref<8xf32>
  memref.copy %a, %s : memref<8xf32> to memref<8xf32>
  runtime.reduce_wait %b bucket 0 : memref<8xf32>
  memref.copy %b, %s : memref<8xf32> to memref<8xf32>
  return
}
