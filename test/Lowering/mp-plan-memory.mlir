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

// -----

// On a device, the result of a map takes the place of an operand that a
// reduction has read and that nobody reads later: one place of 4 MiB, and a
// small one.
// DEVICE: module attributes {mp.arena = 4198400 : i64}
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%x: memref<1024x1024xf32>, %w: memref<1024x1024xf32>, %y: memref<1024xf32>) {
  %a = memref.alloc() : memref<1024x1024xf32>
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} ins(%x, %w : memref<1024x1024xf32>, memref<1024x1024xf32>) outs(%a : memref<1024x1024xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  %s = memref.alloc() : memref<1024xf32>
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<1024x1024xf32>) outs(%s : memref<1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  %b = memref.alloc() : memref<1024x1024xf32>
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : memref<1024x1024xf32>, memref<1024xf32>) outs(%b : memref<1024x1024xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %0 = arith.subf %in, %sum : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %s : memref<1024xf32>
  memref.dealloc %a : memref<1024x1024xf32>
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%b : memref<1024x1024xf32>) outs(%y : memref<1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %b : memref<1024x1024xf32>
  return
}

// -----

// It is read at other places, or later: places of their own.
// DEVICE: module attributes {mp.arena = 20971520 : i64}
// DEVICE: memref.view %{{.*}}[%c0{{.*}}][] : {{.*}} to memref<1024x1024xf32>
// DEVICE: memref.view %{{.*}}[%c16777216{{.*}}][] : {{.*}} to memref<1024x1024xf32>
// DEVICE: memref.view %{{.*}}[%c0{{.*}}][] : {{.*}} to memref<2048x1024xf32>
// DEVICE: memref.view %{{.*}}[%c8388608{{.*}}][] : {{.*}} to memref<2048x1024xf32>
#id = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
#mm = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
func.func @main(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>) {
  %a = memref.alloc() : memref<1024x1024xf32>
  kernel.contract {indexing_maps = #mm} ins(%x, %x : memref<1024x1024xf32>, memref<1024x1024xf32>) outs(%a : memref<1024x1024xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  %b = memref.alloc() : memref<1024x1024xf32>
  linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]} ins(%a : memref<1024x1024xf32>) outs(%b : memref<1024x1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  memref.dealloc %a : memref<1024x1024xf32>
  %c = memref.alloc() : memref<2048x1024xf32>
  kernel.contract {indexing_maps = #mm} ins(%c, %b : memref<2048x1024xf32>, memref<1024x1024xf32>) outs(%c : memref<2048x1024xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  %d = memref.alloc() : memref<2048x1024xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%c : memref<2048x1024xf32>) outs(%d : memref<2048x1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  }
  kernel.contract {indexing_maps = #mm} ins(%c, %b : memref<2048x1024xf32>, memref<1024x1024xf32>) outs(%d : memref<2048x1024xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  memref.dealloc %b : memref<1024x1024xf32>
  memref.dealloc %c : memref<2048x1024xf32>
  memref.dealloc %d : memref<2048x1024xf32>
  return
}
