// RUN: mp-opt %s --pass-pipeline='builtin.module(gpu.module(mp-lower-failures))' | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @check
  gpu.func @check(%c: memref<8xi64>, %a: memref<4xf32>, %bad: i1, %i: index) kernel {
    %x = arith.constant 1.0 : f32
    cf.cond_br %bad, ^fail, ^go
  ^fail:
    // CHECK: %[[BEFORE:.*]] = memref.atomic_rmw assign %{{.*}}, %{{.*}}[%c1{{.*}}]
    // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[BEFORE]]
    // CHECK: cf.cond_br %[[FIRST]], ^[[SAY:.*]], ^[[GO:.*]]
    // CHECK: ^[[SAY]]:
    // CHECK: %[[TEXT:.*]] = arith.constant 4 : i64
    // CHECK: memref.store %[[TEXT]], %{{.*}}[%c2
    // CHECK: memref.store %{{.*}}, %{{.*}}[%c3
    // CHECK: memref.store %{{.*}}, %{{.*}}[%c4
    // CHECK: cf.br ^[[GO]]
    // CHECK: ^[[GO]]:
    // CHECK-NEXT: gpu.return
    device.fail %c, 3 (%i, %i) ends : memref<8xi64>
    cf.br ^go
  ^go:
    memref.store %x, %a[%i] : memref<4xf32>
    gpu.return
  }
}
