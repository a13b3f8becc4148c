// RUN: mp-opt %s --kernel-select-gpu-strategy --convert-groups-to-gpu | FileCheck %s

// Contractions of many products are tiles of blocks; equal ones are one kernel.
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %a = runtime.input %inputs[0] : memref<256x128xbf16>
  %b = runtime.input %inputs[1] : memref<128x192xbf16>
  %c = runtime.output %outputs[0] () : memref<256x192xbf16>
  %d = runtime.output %outputs[1] () : memref<256x192xbf16>
  // CHECK: device.launch @kernels::@contract_0 grid [24, 1, 1] block [128, 1, 1] shared 24576({{.*}}) {work = [#device.work<kind = product, read = 114688, written = 98304, tensor = 6291456>]}
  device.group contract {
    kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
        ins(%a, %b : memref<256x128xbf16>, memref<128x192xbf16>) outs(%c : memref<256x192xbf16>) {
    ^bb0(%sum: f32):
      %0 = arith.truncf %sum : f32 to bf16
      kernel.yield %0 : bf16
    }
  }
  // CHECK: device.launch @kernels::@contract_0
  device.group contract {
    kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
        ins(%a, %b : memref<256x128xbf16>, memref<128x192xbf16>) outs(%d : memref<256x192xbf16>) {
    ^bb0(%sum: f32):
      %0 = arith.truncf %sum : f32 to bf16
      kernel.yield %0 : bf16
    }
  }
  return %ok : i32
}

// CHECK: gpu.func @contract_0
// CHECK: gpu.dynamic_shared_memory
// CHECK: nvvm.mma.sync
// CHECK-NOT: gpu.func
