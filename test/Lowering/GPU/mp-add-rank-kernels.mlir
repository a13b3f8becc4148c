// RUN: mp-opt %s --split-input-file --mp-add-rank-kernels | FileCheck %s

func.func @main(%a: memref<4xf32>) {
  runtime.collective_start %a bucket 0 : memref<4xf32>
  runtime.collective_wait %a bucket 0 : memref<4xf32>
  return
}
gpu.module @kernels {
}

// A row of blocks for each structure of 24 bytes; its blocks share the elements
// out, one for each thread at a time.

// CHECK-LABEL: gpu.func @mp_copy_f32_bf16(
// CHECK-SAME: %[[PIECES:.*]]: !llvm.ptr) kernel
// CHECK: %[[ROW:.*]] = gpu.block_id y
// CHECK: %[[BYTES:.*]] = arith.muli %{{.*}}, %c24_i64
// CHECK: %[[PIECE:.*]] = llvm.getelementptr %[[PIECES]][%[[BYTES]]]
// CHECK: llvm.getelementptr %[[PIECE]][0]
// CHECK: %[[SOURCE:.*]] = llvm.inttoptr
// CHECK: llvm.getelementptr %[[PIECE]][8]
// CHECK: %[[TARGET:.*]] = llvm.inttoptr
// CHECK: llvm.getelementptr %[[PIECE]][16]
// CHECK: %[[COUNT:.*]] = llvm.load
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[COUNT]] step
// CHECK: %[[FROM:.*]] = llvm.getelementptr %[[SOURCE]][%[[I]]]
// CHECK: %[[X:.*]] = llvm.load %[[FROM]] {{.*}} -> f32
// CHECK: %[[Y:.*]] = arith.truncf %[[X]] : f32 to bf16
// CHECK: llvm.store %[[Y]]

// From +0 on, in the order of ranks, in f32; divided once.

// CHECK-LABEL: gpu.func @mp_add_bf16_bf16(
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: scf.for
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %c0_i64{{.*}} iter_args(%[[S:.*]] = %[[ZERO]]) -> (f32)
// CHECK: %[[WIDE:.*]] = arith.extf
// CHECK: arith.addf %[[S]], %[[WIDE]] : f32
// CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]]
// CHECK: %[[RESULT:.*]] = arith.select %{{.*}}, %[[MEAN]], %[[SUM]]
// CHECK: arith.truncf %[[RESULT]] : f32 to bf16

// CHECK-LABEL: gpu.func @mp_add_f64_f64(
// CHECK: arith.addf {{.*}} : f64

// Flags are true where all ranks' are.

// CHECK-LABEL: gpu.func @mp_add_i8_i8(
// CHECK: arith.cmpi ne
// CHECK: arith.andi
// CHECK-NOT: arith.divf


// -----

// Without reductions there is nothing to do.

func.func @main() {
  return
}
// CHECK: gpu.module @kernels
// CHECK-NOT: gpu.func
gpu.module @kernels {
}
