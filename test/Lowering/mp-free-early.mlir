// RUN: mp-opt %s --mp-free-early --split-input-file | FileCheck %s

// Behind the last use: of the memory, of a view of it, or within another op.
// CHECK-LABEL: @main
// CHECK: memref.store %{{.*}}, %[[A:.*]][%c0]
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK: memref.load %[[VIEW:.*]][%c0]
// CHECK-NEXT: memref.dealloc %[[B:.*]] : memref<4xf32>
// CHECK-NEXT: scf.for
// CHECK-NEXT: memref.store %{{.*}}, %[[C:.*]][%{{.*}}
// CHECK-NEXT: memref.store %{{.*}}, %[[D:.*]][%
// CHECK-NEXT: }
// CHECK-NEXT: memref.dealloc %[[D]] : memref<6xf32>
// CHECK-NEXT: memref.dealloc %[[C]] : memref<5xf32>
// CHECK-NEXT: return
func.func @main(%value: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<4xf32>
  %c = memref.alloc() : memref<5xf32>
  %d = memref.alloc() : memref<6xf32>
  memref.store %value, %a[%c0] : memref<8xf32>
  %view = memref.subview %b[2] [2] [1]
      : memref<4xf32> to memref<2xf32, strided<[1], offset: 2>>
  %y = memref.load %view[%c0] : memref<2xf32, strided<[1], offset: 2>>
  scf.for %i = %c0 to %c4 step %c1 {
    memref.store %value, %c[%i] : memref<5xf32>
    memref.store %value, %d[%i] : memref<6xf32>
  }
  memref.dealloc %a : memref<8xf32>
  memref.dealloc %b : memref<4xf32>
  memref.dealloc %c : memref<5xf32>
  memref.dealloc %d : memref<6xf32>
  return %y : f32
}

// -----

// What is freed in one of two places stays.
// CHECK-LABEL: @branch
// CHECK: memref.store %{{.*}}, %{{.*}}[%c0]
// CHECK-NEXT: scf.if
// CHECK-NEXT: memref.dealloc
func.func @branch(%value: f32, %which: i1) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<8xf32>
  memref.store %value, %a[%c0] : memref<8xf32>
  scf.if %which {
    memref.dealloc %a : memref<8xf32>
  }
  return
}

// A choice between two buffers keeps both.
// CHECK-LABEL: @chosen
// CHECK: %[[CHOSEN:.*]] = arith.select
// CHECK-NOT: memref.dealloc
// CHECK: memref.load %[[CHOSEN]]
// CHECK-COUNT-2: memref.dealloc
func.func @chosen(%value: f32, %which: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  memref.store %value, %a[%c0] : memref<8xf32>
  memref.store %value, %b[%c0] : memref<8xf32>
  %chosen = arith.select %which, %a, %b : memref<8xf32>
  %result = memref.load %chosen[%c0] : memref<8xf32>
  memref.dealloc %a : memref<8xf32>
  memref.dealloc %b : memref<8xf32>
  return %result : f32
}
