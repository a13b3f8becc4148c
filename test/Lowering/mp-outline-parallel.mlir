// RUN: mp-opt %s --mp-outline-parallel --split-input-file | FileCheck %s

// Equal bodies are one function; what an iteration allocates is allocated once,
// on the stack.
// CHECK-LABEL: @main
// CHECK-SAME: %[[X:.*]]: memref<8x1024xf32>, %[[Y:.*]]: memref<8x1024xf32>
// CHECK: runtime.launch @[[BODY:.*]] of %{{.*}} by %{{.*}}(%[[X]])
// CHECK: runtime.launch @[[BODY]] of %{{.*}} by %{{.*}}(%[[Y]])
// CHECK: runtime.launch @[[OTHER:.*]] of
// CHECK: func.func private @[[BODY]](%[[P:.*]]: memref<f32>, %{{.*}}: index, %{{.*}}: index) attributes {mp.exclusive = array<i64: 1>}
// CHECK: memref.reinterpret_cast %[[P]] to offset: [0], sizes: {{.*}}, strides: [1024, 1] : memref<f32> to memref<?x?xf32, strided<[1024, 1]>>
// CHECK: func.func private @[[OTHER]]
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<16xf32>
// CHECK: scf.for
// CHECK-NOT: memref.alloc()
func.func @main(%x: memref<8x1024xf32>, %y: memref<8x1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  runtime.parallel %c8 by %c1 {
  ^bb0(%begin: index, %end: index):
    scf.for %i = %begin to %end step %c1 {
      memref.store %one, %x[%i, %c0] : memref<8x1024xf32>
    }
  }
  runtime.parallel %c8 by %c1 {
  ^bb0(%begin: index, %end: index):
    scf.for %i = %begin to %end step %c1 {
      memref.store %one, %y[%i, %c0] : memref<8x1024xf32>
    }
  }
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %row = memref.alloc() : memref<16xf32>
    memref.store %one, %row[%c0] : memref<16xf32>
    memref.dealloc %row : memref<16xf32>
    scf.reduce
  }
  return
}

// -----

// Sums over images for each channel: how many channels there are is known by
// the distance between images alone, which is an argument. That it is far more
// than 1 keeps LLVM from code for a distance of 1.
// CHECK-LABEL: @channels
// CHECK-SAME: %[[X:.*]]: memref<4x3x256xf32>, %[[Y:.*]]: memref<4x5x16xf32, strided<[90, 18, 1], offset: 2>>, %[[Z:.*]]: memref<4x5x256xf32>,
// CHECK: %[[C768:.*]] = arith.constant 768 : index
// CHECK: runtime.launch @[[SUM:.*]] of %{{.*}} by %{{.*}}(%[[X]], %{{.*}}, %[[C768]])
// CHECK: runtime.launch @[[PADDED:.*]] of %{{.*}} by %{{.*}}(%[[Y]], %{{.*}}, %{{.*}})
// CHECK: %[[C1280:.*]] = arith.constant 1280 : index
// CHECK: runtime.launch @[[SUM]] of %{{.*}} by %{{.*}}(%[[Z]], %{{.*}}, %[[C1280]])
// CHECK: func.func private @[[SUM]](%[[P:.*]]: memref<f32>, %{{.*}}: memref<f32>, %[[D:.*]]: index {llvm.range = #llvm.constant_range<i64, 64, 9223372036854775807>}, %{{.*}}: index, %{{.*}}: index)
// CHECK: memref.reinterpret_cast %[[P]] to offset: [0], sizes: {{.*}}, strides: [%[[D]], 256, 1]
// CHECK: memref.subview {{.*}} to memref<4x1x256xf32, strided<[?, 256, 1], offset: ?>>
// CHECK: memref.collapse_shape {{.*}} into memref<4x256xf32, strided<[?, 1], offset: ?>>
// CHECK: func.func private @[[PADDED]](
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [2], sizes: {{.*}}, strides: [%{{.*}}, 18, 1]
func.func @channels(%x: memref<4x3x256xf32>,
                    %y: memref<4x5x16xf32, strided<[90, 18, 1], offset: 2>>,
                    %z: memref<4x5x256xf32>, %s: memref<3xf32>,
                    %t: memref<5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c256 = arith.constant 256 : index
  runtime.parallel %c3 by %c1 {
  ^bb0(%begin: index, %end: index):
    scf.for %i = %begin to %end step %c1 {
      %v = memref.subview %x[0, %i, 0] [4, 1, 256] [1, 1, 1]
          : memref<4x3x256xf32>
          to memref<4x1x256xf32, strided<[768, 256, 1], offset: ?>>
      %w = memref.collapse_shape %v [[0], [1, 2]]
          : memref<4x1x256xf32, strided<[768, 256, 1], offset: ?>>
          into memref<4x256xf32, strided<[768, 1], offset: ?>>
      scf.for %n = %c0 to %c4 step %c1 {
        scf.for %j = %c0 to %c256 step %c1 {
          %a = memref.load %w[%n, %j] : memref<4x256xf32, strided<[768, 1], offset: ?>>
          memref.store %a, %s[%i] : memref<3xf32>
        }
      }
    }
  }
  runtime.parallel %c5 by %c1 {
  ^bb0(%begin: index, %end: index):
    scf.for %i = %begin to %end step %c1 {
      %a = memref.load %y[%c1, %i, %c0]
          : memref<4x5x16xf32, strided<[90, 18, 1], offset: 2>>
      memref.store %a, %t[%i] : memref<5xf32>
    }
  }
  runtime.parallel %c5 by %c1 {
  ^bb0(%begin: index, %end: index):
    scf.for %i = %begin to %end step %c1 {
      %v = memref.subview %z[0, %i, 0] [4, 1, 256] [1, 1, 1]
          : memref<4x5x256xf32>
          to memref<4x1x256xf32, strided<[1280, 256, 1], offset: ?>>
      %w = memref.collapse_shape %v [[0], [1, 2]]
          : memref<4x1x256xf32, strided<[1280, 256, 1], offset: ?>>
          into memref<4x256xf32, strided<[1280, 1], offset: ?>>
      scf.for %n = %c0 to %c4 step %c1 {
        scf.for %j = %c0 to %c256 step %c1 {
          %a = memref.load %w[%n, %j] : memref<4x256xf32, strided<[1280, 1], offset: ?>>
          memref.store %a, %t[%i] : memref<5xf32>
        }
      }
    }
  }
  return
}

// -----

// A short distance stays; that along an axis of one element says nothing.
// CHECK-LABEL: @distances
// CHECK: func.func private @mp_body_0(%[[P:.*]]: memref<f32>, %[[Q:.*]]: memref<f32>, %{{.*}}: index, %{{.*}}: index)
// CHECK: memref.reinterpret_cast %[[P]] to offset: [0], sizes: {{.*}}, strides: [48, 16, 1]
// CHECK: memref.reinterpret_cast %[[Q]] to offset: [0], sizes: {{.*}}, strides: [1, 1]
func.func @distances(%x: memref<4x3x16xf32>, %y: memref<1x3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  runtime.parallel %c3 by %c1 {
  ^bb0(%begin: index, %end: index):
    scf.for %i = %begin to %end step %c1 {
      %a = memref.load %x[%c1, %i, %c0] : memref<4x3x16xf32>
      memref.store %a, %y[%c0, %i] : memref<1x3xf32>
    }
  }
  return
}

// -----

// Where a loop in the body ends with a size, or somebody needs the whole type,
// bodies stay apart.
// CHECK-LABEL: @apart
// CHECK: runtime.launch @[[FIRST:.*]] of
// CHECK: runtime.launch @[[SECOND:.*]] of
// CHECK: func.func private @[[FIRST]](
// CHECK: memref.reinterpret_cast {{.*}} strides: [7, 1] : memref<f32> to memref<4x7xf32>
// CHECK: func.func private @[[SECOND]](
// CHECK: memref.reinterpret_cast {{.*}} strides: [9, 1] : memref<f32> to memref<4x9xf32>
func.func private @take(memref<?x?xf32>)
func.func @apart(%x: memref<4x7xf32>, %y: memref<4x9xf32>) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  runtime.parallel %c4 by %c1 {
  ^bb0(%begin: index, %end: index):
    %a = memref.cast %x : memref<4x7xf32> to memref<?x?xf32>
    func.call @take(%a) : (memref<?x?xf32>) -> ()
  }
  runtime.parallel %c4 by %c1 {
  ^bb0(%begin: index, %end: index):
    %a = memref.cast %y : memref<4x9xf32> to memref<?x?xf32>
    func.call @take(%a) : (memref<?x?xf32>) -> ()
  }
  return
}
