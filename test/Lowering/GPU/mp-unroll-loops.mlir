// RUN: mp-opt %s --split-input-file --mp-unroll-loops | FileCheck %s

// A recurrent layer: the product of each step is one of main, and all steps
// have the same temporary.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %h = runtime.input %inputs[0] : memref<32x128xf32>
  %w = runtime.input %inputs[1] : memref<128x128xf32>
  %y = runtime.output %outputs[0] () : memref<3x32x128xf32>
  // CHECK: %[[SUMS:.*]] = memref.alloc() : memref<32x128xf32>
  // CHECK-NOT: scf.for
  // CHECK: kernel.contract {{.*}} outs(%[[SUMS]] : memref<32x128xf32>)
  // CHECK: kernel.contract {{.*}} outs(%[[SUMS]] : memref<32x128xf32>)
  // CHECK: kernel.contract {{.*}} outs(%[[SUMS]] : memref<32x128xf32>)
  // CHECK: memref.subview %{{.*}}[2, 0, 0] [1, 32, 128] [1, 1, 1]
  // CHECK: memref.dealloc %[[SUMS]]
  // CHECK-NOT: memref.alloc
  scf.for %i = %c0 to %c3 step %c1 {
    %sums = memref.alloc() : memref<32x128xf32>
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%h, %w : memref<32x128xf32>, memref<128x128xf32>) outs(%sums : memref<32x128xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
    %row = memref.subview %y[%i, 0, 0] [1, 32, 128] [1, 1, 1] : memref<3x32x128xf32> to memref<32x128xf32, strided<[128, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%sums : memref<32x128xf32>) outs(%h, %row : memref<32x128xf32>, memref<32x128xf32, strided<[128, 1], offset: ?>>) {
    ^bb0(%s: f32, %o: f32, %p: f32):
      %0 = math.tanh %s : f32
      linalg.yield %0, %0 : f32, f32
    }
    memref.dealloc %sums : memref<32x128xf32>
  }
  return %ok : i32
}

// -----

// Little to do, too many launches, or no known number of iterations: a kernel
// of one block.

#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5000 = arith.constant 5000 : index
  %n = runtime.input %inputs[0] : memref<index>
  %x = runtime.input %inputs[1] : memref<32x128xf32>
  %y = runtime.input %inputs[2] : memref<512x512xf32>
  // CHECK-COUNT-3: scf.for
  scf.for %i = %c0 to %c3 step %c1 {
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%x : memref<32x128xf32>) {
    ^bb0(%s: f32):
      %0 = arith.addf %s, %s : f32
      linalg.yield %0 : f32
    }
  }
  scf.for %i = %c0 to %c5000 step %c1 {
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%y : memref<512x512xf32>) {
    ^bb0(%s: f32):
      %0 = arith.addf %s, %s : f32
      linalg.yield %0 : f32
    }
  }
  %end = memref.load %n[] : memref<index>
  scf.for %i = %c0 to %end step %c1 {
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%y : memref<512x512xf32>) {
    ^bb0(%s: f32):
      %0 = arith.addf %s, %s : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// The steps' parts of a place in the arena are places: one kernel for all.

#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c512 = arith.constant 512 : index
  // CHECK: %[[ARENA:.*]] = memref.alloc()
  %arena = memref.alloc() : memref<2097664xi8>
  %x = memref.view %arena[%c512][] : memref<2097664xi8> to memref<2x512x512xf32>
  // CHECK: memref.view %[[ARENA]][%{{.*}}][] : memref<2097664xi8> to memref<512x512xf32>
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : memref<512x512xf32>)
  // CHECK: %[[SECOND:.*]] = arith.constant 1049088 : index
  // CHECK: %[[PART:.*]] = memref.view %[[ARENA]][%[[SECOND]]][] : memref<2097664xi8> to memref<512x512xf32>
  // CHECK: linalg.generic {{.*}} outs(%[[PART]] : memref<512x512xf32>)
  scf.for %i = %c0 to %c2 step %c1 {
    %part = memref.subview %x[%i, 0, 0] [1, 512, 512] [1, 1, 1] : memref<2x512x512xf32> to memref<512x512xf32, strided<[512, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%part : memref<512x512xf32, strided<[512, 1], offset: ?>>) {
    ^bb0(%s: f32):
      %0 = arith.addf %s, %s : f32
      linalg.yield %0 : f32
    }
  }
  memref.dealloc %arena : memref<2097664xi8>
  return %ok : i32
}
