// RUN: mp-opt %s --mp-outline-parallel | FileCheck %s

// Equal bodies are one function; what an iteration allocates is allocated once,
// on the stack.
// CHECK-LABEL: @main
// CHECK-SAME: %[[X:.*]]: memref<8x1024xf32>, %[[Y:.*]]: memref<8x1024xf32>
// CHECK: runtime.launch @[[BODY:.*]] of %{{.*}} by %{{.*}}(%[[X]])
// CHECK: runtime.launch @[[BODY]] of %{{.*}} by %{{.*}}(%[[Y]])
// CHECK: runtime.launch @[[OTHER:.*]] of
// CHECK: func.func private @[[BODY]](%{{.*}}: memref<8x1024xf32>, %{{.*}}: index, %{{.*}}: index) attributes {mp.exclusive = array<i64: 1>}
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
