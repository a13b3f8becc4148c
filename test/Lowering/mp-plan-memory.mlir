// RUN: mp-opt %s --mp-plan-memory --split-input-file | FileCheck %s
// RUN: mp-opt %s --mp-plan-memory=alignment=256 --split-input-file | FileCheck %s --check-prefix=DEVICE

// Buffers that live one after the other share a place; %b lives beside both.
// CHECK: module attributes {mp.arena = 576 : i64}
// On a device %b, and %a, too, have places of their own.
// DEVICE: memref.alloc() : memref<1024xi8>
// CHECK-LABEL: @main
// CHECK: %[[ARENA:.*]] = memref.alloc() : memref<576xi8>
// CHECK: memref.view %[[ARENA]][%c0{{.*}}][] : memref<576xi8> to memref<64xf32>
// CHECK: memref.view %[[ARENA]][%c512{{.*}}][] : memref<576xi8> to memref<10xf32>
// CHECK: memref.view %[[ARENA]][%c0{{.*}}][] : memref<576xi8> to memref<128xf32>
// CHECK: memref.dealloc %[[ARENA]]
// CHECK-NEXT: return
func.func @main(%value: f32) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<64xf32>
  %b = memref.alloc() : memref<10xf32>
  memref.store %value, %a[%c0] : memref<64xf32>
  memref.dealloc %a : memref<64xf32>
  %c = memref.alloc() : memref<128xf32>
  memref.store %value, %b[%c0] : memref<10xf32>
  memref.store %value, %c[%c0] : memref<128xf32>
  memref.dealloc %c : memref<128xf32>
  memref.dealloc %b : memref<10xf32>
  return
}

// -----

// Of a size that is known at run time only.
// CHECK: module attributes {mp.arena = 0 : i64}
// CHECK: memref.alloc(%{{.*}}) : memref<?xf32>
func.func @main(%size: index) {
  %a = memref.alloc(%size) : memref<?xf32>
  memref.dealloc %a : memref<?xf32>
  return
}
