// RUN: mp-opt %s --pass-pipeline='builtin.module(gpu.module(convert-kernels-to-rocdl{chip=gfx942}))' | FileCheck %s
// RUN: mp-opt %s --pass-pipeline='builtin.module(gpu.module(convert-kernels-to-rocdl{chip=gfx1100}))' | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @map(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
  // CHECK-SAME: rocdl.kernel
  // CHECK-SAME: rocdl.reqd_work_group_size = array<i32: 128, 1, 1>
  gpu.func @map(%a: memref<4x128xf32>, %b: memref<4x128xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // CHECK: rocdl.workitem.id.x {{.*}} : i32
    %t = gpu.thread_id x
    %i = gpu.block_id x
    %x = memref.load %a[%i, %t] : memref<4x128xf32>
    // CHECK: llvm.intr.sqrt
    %y = math.sqrt %x : f32
    // CHECK: rocdl.barrier
    gpu.barrier
    // CHECK: llvm.store
    memref.store %y, %b[%i, %t] : memref<4x128xf32>
    gpu.return
  }

  // A thread's own memory is not in the space of all memory.
  // CHECK-LABEL: llvm.func @own
  gpu.func @own(%a: memref<4xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    // CHECK: llvm.alloca {{.*}} -> !llvm.ptr<5>
    %m = memref.alloca() : memref<4xf32>
    %x = memref.load %m[%t] : memref<4xf32>
    memref.store %x, %a[%t] : memref<4xf32>
    gpu.return
  }
}
