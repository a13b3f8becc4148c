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
