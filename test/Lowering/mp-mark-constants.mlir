// RUN: mp-opt %s --mp-mark-constants | FileCheck %s

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// Constants, and views of them whose types say where.
// CHECK-LABEL: func.func @constants
// CHECK: kernel.contract {{.*}}kernel.constant = 1 : i64
// CHECK: kernel.contract {{.*}}kernel.constant = 1 : i64
func.func @constants(%a: memref<?x64xf32>, %c: memref<?x96xf32>) {
  %w = runtime.constant @w : memref<64x96xf32>
  kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%a, %w : memref<?x64xf32>, memref<64x96xf32>) outs(%c : memref<?x96xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  %flat = runtime.constant @v : memref<12288xf32>
  %part = memref.subview %flat[6144] [6144] [1]
      : memref<12288xf32> to memref<6144xf32, strided<[1], offset: 6144>>
  %v = memref.expand_shape %part [[0, 1]] output_shape [64, 96]
      : memref<6144xf32, strided<[1], offset: 6144>>
      into memref<64x96xf32, strided<[96, 1], offset: 6144>>
  kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%a, %v : memref<?x64xf32>, memref<64x96xf32, strided<[96, 1], offset: 6144>>)
      outs(%c : memref<?x96xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// What a call can change, and what its type does not describe.
// CHECK-LABEL: func.func @others
// CHECK-NOT: kernel.constant
func.func @others(%inputs: !llvm.ptr, %n: index, %a: memref<?x64xf32>, %c: memref<?x96xf32>) {
  %x = runtime.input %inputs[0] : memref<64x96xf32>
  kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%a, %x : memref<?x64xf32>, memref<64x96xf32>) outs(%c : memref<?x96xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  %w = runtime.constant @u : memref<128x96xf32>
  %part = memref.subview %w[%n, 0] [64, 96] [1, 1]
      : memref<128x96xf32> to memref<64x96xf32, strided<[96, 1], offset: ?>>
  kernel.contract {indexing_maps = [#rows, #columns, #out]}
      ins(%a, %part : memref<?x64xf32>, memref<64x96xf32, strided<[96, 1], offset: ?>>)
      outs(%c : memref<?x96xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}
