// RUN: mp-opt %s --mp-free-owned --split-input-file | FileCheck %s

// CHECK-LABEL: @allocations
// CHECK: %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK: %[[B:.*]] = memref.alloc() : memref<4xf32>
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK-NEXT: memref.dealloc %[[B]]
// CHECK-NEXT: return
func.func @allocations() {
  %true = arith.constant true
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<4xf32>
  bufferization.dealloc (%a, %b : memref<8xf32>, memref<4xf32>)
      if (%true, %true)
  return
}

// -----

// What may be the same memory is left to MLIR, with all that is freed with it.
// CHECK-LABEL: @selected
// CHECK-NOT: memref.dealloc
// CHECK: bufferization.dealloc
func.func @selected(%which: i1) {
  %true = arith.constant true
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  %c = arith.select %which, %a, %b : memref<8xf32>
  bufferization.dealloc (%a, %b, %c : memref<8xf32>, memref<8xf32>, memref<8xf32>)
      if (%true, %true, %true)
  return
}

// -----

// CHECK-LABEL: @twice
// CHECK-NOT: memref.dealloc
// CHECK: bufferization.dealloc
func.func @twice() {
  %true = arith.constant true
  %a = memref.alloc() : memref<8xf32>
  bufferization.dealloc (%a, %a : memref<8xf32>, memref<8xf32>)
      if (%true, %true)
  return
}

// -----

// CHECK-LABEL: @perhaps
// CHECK-NOT: memref.dealloc
// CHECK: bufferization.dealloc
func.func @perhaps(%which: i1) {
  %a = memref.alloc() : memref<8xf32>
  bufferization.dealloc (%a : memref<8xf32>) if (%which)
  return
}

// -----

// CHECK-LABEL: @retained
// CHECK-NOT: memref.dealloc
// CHECK: bufferization.dealloc
func.func @retained(%b: memref<8xf32>) -> i1 {
  %true = arith.constant true
  %a = memref.alloc() : memref<8xf32>
  %kept = bufferization.dealloc (%a : memref<8xf32>) if (%true)
      retain (%b : memref<8xf32>)
  return %kept : i1
}
