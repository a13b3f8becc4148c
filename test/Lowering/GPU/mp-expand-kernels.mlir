// RUN: mp-opt %s --pass-pipeline='builtin.module(gpu.module(mp-expand-kernels))' | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @functions
  gpu.func @functions(%a: memref<4xf32>) kernel {
    %i = arith.constant 0 : index
    %x = memref.load %a[%i] : memref<4xf32>
    // CHECK-NOT: math.exp
    // CHECK-NOT: math.sin
    // CHECK-NOT: math.powf
    // CHECK: math.sqrt
    %0 = math.exp %x : f32
    %1 = math.sin %0 : f32
    %2 = math.sqrt %1 : f32
    %3 = math.powf %2, %x : f32
    memref.store %3, %a[%i] : memref<4xf32>
    gpu.return
  }
  // Negative numbers have powers, too; what is left of a division is exact.
  // CHECK-LABEL: gpu.func @sign
  gpu.func @sign(%a: memref<4xf32>) kernel {
    %i = arith.constant 0 : index
    %x = memref.load %a[%i] : memref<4xf32>
    // CHECK-NOT: math.powf
    // CHECK: math.copysign
    %0 = math.powf %x, %x : f32
    // CHECK: arith.extf %{{.*}} : f32 to f64
    // CHECK-NOT: arith.remf
    // CHECK: math.fma %{{.*}} : f64
    %1 = arith.remf %0, %x : f32
    memref.store %1, %a[%i] : memref<4xf32>
    gpu.return
  }
  // CHECK-LABEL: gpu.func @draw
  gpu.func @draw(%c: memref<8xi64>, %a: memref<2xi64>) kernel {
    %i = arith.constant 0 : index
    %j = arith.constant 1 : index
    // The seed itself in the first call, for the first draw.
    // CHECK: %[[FIRST:.*]] = arith.cmpi eq
    // CHECK: arith.select %[[FIRST]], %c5_i64
    // CHECK-NOT: arith.select
    %0 = device.draw %c, 5 after 0 : memref<8xi64>
    %1 = device.draw %c, 5 after 1 : memref<8xi64>
    memref.store %0, %a[%i] : memref<2xi64>
    memref.store %1, %a[%j] : memref<2xi64>
    gpu.return
  }
  // Results that are rounded to 16 bits are approximated; a stored f32, or one
  // that is divided by, is not.
  // CHECK-LABEL: gpu.func @rounded
  gpu.func @rounded(%a: memref<4xf32>, %b: memref<4xbf16>) kernel {
    %i = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %x = memref.load %a[%i] : memref<4xf32>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
    // CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
    // CHECK: arith.truncf
    %erf = math.erf %x : f32
    %more = arith.addf %erf, %one : f32
    %exp = math.exp %x : f32
    %both = arith.mulf %more, %exp : f32
    %low = arith.truncf %both : f32 to bf16
    memref.store %low, %b[%i] : memref<4xbf16>
    gpu.return
  }
  // CHECK-LABEL: gpu.func @stored
  gpu.func @stored(%a: memref<4xf32>, %b: memref<4xbf16>) kernel {
    %i = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %x = memref.load %a[%i] : memref<4xf32>
    // CHECK-NOT: call_intrinsic
    // CHECK: gpu.return
    %erf = math.erf %x : f32
    %more = arith.addf %erf, %one : f32
    %exp = math.exp %x : f32
    %ratio = arith.divf %one, %exp : f32
    %low = arith.truncf %ratio : f32 to bf16
    memref.store %low, %b[%i] : memref<4xbf16>
    memref.store %more, %a[%i] : memref<4xf32>
    gpu.return
  }
}
