// RUN: mp-opt %s --mp-split-main=length=2 --split-input-file | FileCheck %s

func.func private @layer(memref<8xf32>, f32)

// Views are computed where they are used, other values are handed over.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: memref<8xf32>)
// CHECK: %[[ARENA:.*]] = memref.alloc() : memref<128xi8>
// CHECK: %[[LOADED:.*]] = call @[[FIRST:mp_part_[0-9]+]](%[[X]], %[[ARENA]]) : (memref<8xf32>, memref<128xi8>) -> f32
// CHECK: call @[[SECOND:mp_part_[0-9]+]](%[[ARENA]], %[[LOADED]]) : (memref<128xi8>, f32) -> ()
// CHECK-NEXT: memref.dealloc %[[ARENA]]
// CHECK-NEXT: return
// CHECK: func.func private @[[FIRST]](%[[X1:.*]]: memref<8xf32>, %[[ARENA1:.*]]: memref<128xi8>) -> f32
// CHECK: %[[VALUE:.*]] = memref.load %[[X1]]
// CHECK: %[[VIEW1:.*]] = memref.view %[[ARENA1]]
// CHECK: call @layer(%[[VIEW1]], %[[VALUE]])
// CHECK: return %[[VALUE]] : f32
// CHECK: func.func private @[[SECOND]](%[[ARENA2:.*]]: memref<128xi8>, %[[VALUE2:.*]]: f32)
// CHECK: %[[VIEW2:.*]] = memref.view %[[ARENA2]]
// CHECK: call @layer(%[[VIEW2]], %[[VALUE2]])
// CHECK: call @layer(%[[VIEW2]], %[[VALUE2]])
func.func @main(%x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %arena = memref.alloc() : memref<128xi8>
  %value = memref.load %x[%c0] : memref<8xf32>
  %view = memref.view %arena[%c64][] : memref<128xi8> to memref<8xf32>
  call @layer(%view, %value) : (memref<8xf32>, f32) -> ()
  call @layer(%view, %value) : (memref<8xf32>, f32) -> ()
  call @layer(%view, %value) : (memref<8xf32>, f32) -> ()
  memref.dealloc %arena : memref<128xi8>
  return
}

// -----

func.func private @layer(memref<8xf32>)

// A short one is left alone, and so are other functions.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-3: call @layer(
// CHECK-LABEL: func.func @other(
// CHECK-COUNT-5: call @layer(
// CHECK-NOT: mp_part
func.func @main(%x: memref<8xf32>) {
  call @layer(%x) : (memref<8xf32>) -> ()
  call @layer(%x) : (memref<8xf32>) -> ()
  call @layer(%x) : (memref<8xf32>) -> ()
  return
}

func.func @other(%x: memref<8xf32>) {
  call @layer(%x) : (memref<8xf32>) -> ()
  call @layer(%x) : (memref<8xf32>) -> ()
  call @layer(%x) : (memref<8xf32>) -> ()
  call @layer(%x) : (memref<8xf32>) -> ()
  call @layer(%x) : (memref<8xf32>) -> ()
  return
}

// -----

func.func private @use(memref<?xf32>, index)

// A view of what a part yields stands behind its call; conditions and memory of
// sizes that are known only here stay in order.
// CHECK-LABEL: func.func @main(
// CHECK: %[[N:.*]] = call @[[FIRST:mp_part_[0-9]+]](
// CHECK: memref.alloc(%[[N]])
// CHECK: call @[[SECOND:mp_part_[0-9]+]](
// CHECK: func.func private @[[FIRST]](
// CHECK: memref.load
// CHECK: scf.if
// CHECK: call @use(
// CHECK: func.func private @[[SECOND]](
func.func @main(%sizes: memref<2xindex>, %x: memref<?xf32>, %b: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.load %sizes[%c0] : memref<2xindex>
  %m = arith.addi %n, %c1 : index
  scf.if %b {
    func.call @use(%x, %m) : (memref<?xf32>, index) -> ()
  }
  %new = memref.alloc(%n) : memref<?xf32>
  call @use(%new, %m) : (memref<?xf32>, index) -> ()
  call @use(%x, %m) : (memref<?xf32>, index) -> ()
  memref.dealloc %new : memref<?xf32>
  return
}

// -----

func.func private @layer(memref<8xf32>)

// Memory of an output is found again where it is written.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr)
// CHECK: call @[[FIRST:mp_part_[0-9]+]](%[[OUT]]) : (!llvm.ptr) -> ()
// CHECK: call @[[SECOND:mp_part_[0-9]+]](%[[OUT]]) : (!llvm.ptr) -> ()
// CHECK: func.func private @[[FIRST]](%[[OUT1:.*]]: !llvm.ptr)
// CHECK: runtime.output %[[OUT1]][3] ()
// CHECK: func.func private @[[SECOND]](%[[OUT2:.*]]: !llvm.ptr)
// CHECK: %[[AGAIN:.*]] = runtime.input %[[OUT2]][3] : memref<8xf32>
// CHECK: call @layer(%[[AGAIN]])
func.func @main(%in: !llvm.ptr, %out: !llvm.ptr) {
  %y = runtime.output %out[3] () : memref<8xf32>
  call @layer(%y) : (memref<8xf32>) -> ()
  call @layer(%y) : (memref<8xf32>) -> ()
  call @layer(%y) : (memref<8xf32>) -> ()
  return
}
