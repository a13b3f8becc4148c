// RUN: not mp-opt %S/convert-contract-to-gpu.mlir --pass-pipeline='builtin.module(convert-contract-to-gpu,gpu.module(convert-kernels-to-rocdl))' 2>&1 | FileCheck %s
// RUN: not mp-opt %s --pass-pipeline='builtin.module(gpu.module(convert-kernels-to-rocdl{chip=sm_80}))' 2>&1 | FileCheck %s --check-prefix=CHIP

// CHECK: error: 'nv{{.*}}' op expected ops that gfx942 has, got one of NVIDIA's devices
// CHIP: error: chip: expected gfx942 or gfx1100, got 'sm_80'
gpu.module @kernels {
}
