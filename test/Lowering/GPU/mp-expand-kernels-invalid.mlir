// RUN: mp-opt %s --pass-pipeline='builtin.module(gpu.module(mp-expand-kernels))' --verify-diagnostics

gpu.module @kernels {
  gpu.func @double(%a: memref<4xf64>) kernel {
    %i = arith.constant 0 : index
    %x = memref.load %a[%i] : memref<4xf64>
    // expected-error@+1 {{has no code for devices: 'math.erf' of f64; --device=cpu runs it}}
    %0 = math.erf %x : f64
    memref.store %0, %a[%i] : memref<4xf64>
    gpu.return
  }
}
