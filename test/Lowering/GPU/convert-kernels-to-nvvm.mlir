// RUN: mp-opt %s --pass-pipeline='builtin.module(gpu.module(convert-kernels-to-nvvm))' | FileCheck %s

gpu.module @kernels {
  // Bare pointers, indices of 32 bit, instructions instead of libraries' calls.
  // CHECK-LABEL: llvm.func @map(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
  // CHECK-SAME: nvvm.kernel
  // CHECK-SAME: nvvm.maxntid = array<i32: 128, 1, 1>
  gpu.func @map(%a: memref<4x128xf32>, %b: memref<4x128xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // CHECK: nvvm.read.ptx.sreg.tid.x {{.*}} : i32
    %t = gpu.thread_id x
    %i = gpu.block_id x
    %x = memref.load %a[%i, %t] : memref<4x128xf32>
    // CHECK: llvm.intr.sqrt
    %y = math.sqrt %x : f32
    // CHECK: nvvm.barrier
    gpu.barrier
    // CHECK: llvm.store
    memref.store %y, %b[%i, %t] : memref<4x128xf32>
    gpu.return
  }
}

gpu.module @big {
  // CHECK-LABEL: llvm.func @big
  gpu.func @big(%a: memref<4294967296xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // CHECK: llvm.sext %{{.*}} : i32 to i64
    %t = gpu.thread_id x
    %x = memref.load %a[%t] : memref<4294967296xf32>
    memref.store %x, %a[%t] : memref<4294967296xf32>
    gpu.return
  }
}

gpu.module @data {
  // An index that the model computes: 2^32 + 1 is not 1.
  // CHECK-LABEL: llvm.func @lookup
  gpu.func @lookup(%a: memref<64xf32>, %p: memref<1xi64>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %n = memref.load %p[%c0] : memref<1xi64>
    // CHECK-NOT: llvm.trunc
    %i = arith.index_cast %n : i64 to index
    // CHECK: llvm.getelementptr {{.*}} : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = memref.load %a[%i] : memref<64xf32>
    memref.store %x, %a[%c0] : memref<64xf32>
    gpu.return
  }
  // Beside it, one without.
  // CHECK-LABEL: llvm.func @short
  gpu.func @short(%a: memref<64xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %x = memref.load %a[%t] : memref<64xf32>
    // CHECK: llvm.getelementptr {{.*}} : (!llvm.ptr, i32) -> !llvm.ptr, f32
    memref.store %x, %a[%t] : memref<64xf32>
    gpu.return
  }
}
