// RUN: mp-opt %s --mp-delay-waits | FileCheck %s
// RUN: mp-opt %s --mp-delay-waits=together | FileCheck %s --check-prefix=TOGETHER

// Other memory may be read and written meanwhile; a view of the same is no use
// yet, but what is done with it is.
// CHECK-LABEL: @wait
// CHECK-SAME: %[[G:.*]]: memref<8xf32>, %[[X:.*]]: memref<8xf32>, %[[Y:.*]]: memref<4xf32>
// CHECK: runtime.collective_start %[[G]] bucket 0
// CHECK-NEXT: memref.copy %[[X]]
// CHECK-NEXT: %[[VIEW:.*]] = memref.subview %[[G]]
// CHECK-NEXT: runtime.collective_wait %[[G]] bucket 0
// CHECK-NEXT: memref.copy %[[VIEW]], %[[Y]]
func.func @wait(%g: memref<8xf32>, %x: memref<8xf32>, %y: memref<4xf32>, %z: memref<8xf32>) {
  runtime.collective_start %g bucket 0 : memref<8xf32>
  runtime.collective_wait %g bucket 0 : memref<8xf32>
  memref.copy %x, %z : memref<8xf32> to memref<8xf32>
  %view = memref.subview %g[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  memref.copy %view, %y : memref<4xf32, strided<[1], offset: 4>> to memref<4xf32>
  return
}

// Members of a bucket are one collective, and the first use of one of them may
// be in a loop; a wait without a use comes at the end.
// CHECK-LABEL: @inside
// CHECK-SAME: %[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<4xf32>, %[[X:.*]]: memref<8xf32>
// CHECK: runtime.collective_start %[[A]], %[[B]] bucket 3 : memref<8xf32>, memref<4xf32>
// CHECK-NEXT: runtime.collective_start %[[X]] bucket 1
// CHECK-NEXT: runtime.collective_wait %[[A]], %[[B]] bucket 3
// CHECK-NEXT: scf.for
// CHECK: runtime.collective_wait %[[X]] bucket 1
// CHECK-NEXT: return
func.func @inside(%a: memref<8xf32>, %b: memref<4xf32>, %x: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  runtime.collective_start %a bucket 3 : memref<8xf32>
  runtime.collective_wait %a bucket 3 : memref<8xf32>
  runtime.collective_start %b bucket 3 : memref<4xf32>
  runtime.collective_wait %b bucket 3 : memref<4xf32>
  runtime.collective_start %x bucket 1 : memref<8xf32>
  runtime.collective_wait %x bucket 1 : memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %a[%i] : memref<8xf32>
  }
  return
}

// A collective starts where its last member is ready. Rows are read where they
// are given, so that a member with rows is on its own, in a bucket of its own;
// for a device, members have no rows, and waits follow the first.
// CHECK-LABEL: @members
// CHECK-SAME: %[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<8xf32>, %[[X:.*]]: memref<8xf32>, %[[I:.*]]: memref<2xi64>
// CHECK-NEXT: runtime.collective_start %[[A]] rows %[[I]] : memref<2xi64>, bucket 0
// CHECK-NEXT: memref.copy %[[X]], %[[B]]
// CHECK-NEXT: runtime.collective_start %[[B]] bucket 2
// CHECK-NEXT: runtime.collective_wait %[[A]] bucket 0
// CHECK-NEXT: memref.copy %[[A]], %[[X]]
// CHECK-NEXT: runtime.collective_start %[[X]] bucket 1
// CHECK-NEXT: runtime.collective_wait %[[B]] bucket 2
// CHECK-NEXT: memref.copy %[[B]], %[[A]]
// TOGETHER-LABEL: @members
// TOGETHER-SAME: %[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<8xf32>, %[[X:.*]]: memref<8xf32>, %{{.*}}: memref<2xi64>
// TOGETHER-NEXT: memref.copy %[[X]], %[[B]]
// TOGETHER-NEXT: runtime.collective_start %[[A]], %[[B]] bucket 0
// TOGETHER-NEXT: runtime.collective_wait %[[A]], %[[B]] bucket 0
// TOGETHER-NEXT: memref.copy %[[A]], %[[X]]
// TOGETHER-NEXT: runtime.collective_start %[[X]] bucket 1
// TOGETHER-NEXT: memref.copy %[[B]], %[[A]]
// TOGETHER-NEXT: runtime.collective_wait %[[X]] bucket 1
// TOGETHER-NEXT: memref.copy %[[X]], %[[B]]
func.func @members(%a: memref<8xf32>, %b: memref<8xf32>, %x: memref<8xf32>, %i: memref<2xi64>) {
  runtime.collective_start %a rows %i : memref<2xi64>, bucket 0 : memref<8xf32>
  runtime.collective_wait %a bucket 0 : memref<8xf32>
  memref.copy %x, %b : memref<8xf32> to memref<8xf32>
  runtime.collective_start %b bucket 0 : memref<8xf32>
  runtime.collective_wait %b bucket 0 : memref<8xf32>
  memref.copy %a, %x : memref<8xf32> to memref<8xf32>
  runtime.collective_start %x bucket 1 : memref<8xf32>
  runtime.collective_wait %x bucket 1 : memref<8xf32>
  memref.copy %b, %a : memref<8xf32> to memref<8xf32>
  memref.copy %x, %b : memref<8xf32> to memref<8xf32>
  return
}

// A member that was ready in front of another wait starts behind that, and is
// waited for behind its start.
// TOGETHER-LABEL: @between
// TOGETHER-SAME: %[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<8xf32>, %[[S:.*]]: memref<8xf32>
// TOGETHER: runtime.collective_start %[[S]] bucket 1
// TOGETHER-NEXT: runtime.collective_wait %[[S]] bucket 1
// TOGETHER-NEXT: memref.copy %[[S]], %[[B]]
// TOGETHER-NEXT: runtime.collective_start %[[A]], %[[B]] bucket 0
// TOGETHER-NEXT: runtime.collective_wait %[[A]], %[[B]] bucket 0
func.func @between(%a: memref<8xf32>, %b: memref<8xf32>, %s: memref<8xf32>) {
  runtime.collective_start %a bucket 0 : memref<8xf32>
  runtime.collective_wait %a bucket 0 : memref<8xf32>
  runtime.collective_start %s bucket 1 : memref<8xf32>
  runtime.collective_wait %s bucket 1 : memref<8xf32>
  memref.copy %s, %b : memref<8xf32> to memref<8xf32>
  runtime.collective_start %b bucket 0 : memref<8xf32>
  runtime.collective_wait %b bucket 0 : memref<8xf32>
  memref.copy %a, %s : memref<8xf32> to memref<8xf32>
  memref.copy %b, %s : memref<8xf32> to memref<8xf32>
  return
}

// Kinds of a bucket are apart, as are conditions from different memory; the same
// flag may be loaded twice. A member that is needed before the next one is ready
// is sent without it.
// CHECK-LABEL: @kinds
// CHECK-SAME: %[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<8xf32>, %[[C:.*]]: memref<8xf32>, %[[D:.*]]: memref<8xf64>, %[[P:.*]]: memref<i1>
// CHECK-NEXT: %[[ONE:.*]] = memref.load %[[P]]
// CHECK-NEXT: %[[OTHER:.*]] = memref.load %[[P]]
// CHECK-NEXT: runtime.collective_start %[[A]], %[[B]] if %[[ONE]] bucket 0 :
// CHECK-NEXT: runtime.collective_start %[[C]] if %[[ONE]] bucket 1 {kind = 1 : i32}
// CHECK-NEXT: runtime.collective_start %[[D]] if %[[ONE]] bucket 2 :
// CHECK-NEXT: runtime.collective_wait %[[A]], %[[B]] if %[[ONE]] bucket 0
// CHECK-NEXT: memref.copy %[[B]], %[[A]]
// CHECK-NEXT: runtime.collective_start %[[B]] if %[[ONE]] bucket 3 :
// CHECK-NEXT: runtime.collective_wait %[[C]] if %[[ONE]] bucket 1
// CHECK-NEXT: runtime.collective_wait %[[D]] if %[[ONE]] bucket 2
// CHECK-NEXT: runtime.collective_wait %[[B]] if %[[ONE]] bucket 3
func.func @kinds(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %d: memref<8xf64>, %p: memref<i1>) {
  %one = memref.load %p[] : memref<i1>
  %other = memref.load %p[] : memref<i1>
  runtime.collective_start %a if %one bucket 0 : memref<8xf32>
  runtime.collective_wait %a if %one bucket 0 : memref<8xf32>
  runtime.collective_start %b if %other bucket 0 : memref<8xf32>
  runtime.collective_wait %b if %other bucket 0 : memref<8xf32>
  runtime.collective_start %c if %one bucket 0 {kind = 1 : i32} : memref<8xf32>
  runtime.collective_wait %c if %one bucket 0 : memref<8xf32>
  runtime.collective_start %d if %one bucket 0 : memref<8xf64>
  runtime.collective_wait %d if %one bucket 0 : memref<8xf64>
  memref.copy %b, %a : memref<8xf32> to memref<8xf32>
  runtime.collective_start %b if %one bucket 0 : memref<8xf32>
  runtime.collective_wait %b if %one bucket 0 : memref<8xf32>
  return
}
