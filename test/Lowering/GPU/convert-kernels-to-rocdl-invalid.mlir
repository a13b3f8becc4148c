// RUN: not mp-opt %S/convert-groups-to-gpu-contract.mlir --pass-pipeline='builtin.module(kernel-select-gpu-strategy,convert-groups-to-gpu,gpu.module(convert-kernels-to-rocdl))' 2>&1 | FileCheck %s
// RUN: not mp-opt %s --pass-pipeline='builtin.module(gpu.module(convert-kernels-to-rocdl{chip=sm_80}))' 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not mp-opt %s --pass-pipeline='builtin.module(gpu.module(convert-kernels-to-rocdl{chip=gfx1100}))' 2>&1 | FileCheck %s --check-prefix=CALL

// CHECK: error: 'nv{{.*}}' op expected ops that gfx942 has, got one of NVIDIA's devices
// CHIP: error: chip: expected gfx942 or gfx1100, got 'sm_80'
// CALL: error: '__ocml_erf_f32' is called, which gfx1100 does not have without a library
gpu.module @kernels {
  gpu.func @map(%a: memref<128xf32>) kernel {
    %t = gpu.thread_id x
    %x = memref.load %a[%t] : memref<128xf32>
    %y = math.erf %x : f32
    memref.store %y, %a[%t] : memref<128xf32>
    gpu.return
  }
}
