// RUN: mp-opt %s --kernel-select-gpu-strategy --convert-groups-to-gpu | FileCheck %s

// Blocks of 64 queries go through keys, which cp.async copies ahead. Products
// read 16-bit factors from shared memory, and no matrix of queries by keys is
// stored.
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %q = runtime.input %inputs[0] : memref<2x64x32xbf16>
  %k = runtime.input %inputs[1] : memref<2x48x32xbf16>
  %v = runtime.input %inputs[2] : memref<2x48x16xbf16>
  %mask = runtime.input %inputs[3] : memref<1x48xf32>
  %o = runtime.output %outputs[0] () : memref<2x64x16xbf16>
  %max = runtime.output %outputs[1] () : memref<2x64xf32>
  %sum = runtime.output %outputs[2] () : memref<2x64xf32>
  // CHECK: device.launch @kernels::@attention_0 grid [2, 1, 1] block [128, 1, 1] shared 16384({{.*}}) {work = [#device.work<kind = product, read = 17600, written = 5120, tensor = 294912, operations = 24577>]}
  device.group attention {
    kernel.attention {indexing_maps = [affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (0, n)>, affine_map<(b, m, n, d, e) -> (b, m, e)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m)>]}
      ins(%q, %k, %v, %mask : memref<2x64x32xbf16>, memref<2x48x32xbf16>, memref<2x48x16xbf16>, memref<1x48xf32>) outs(%o, %max, %sum : memref<2x64x16xbf16>, memref<2x64xf32>, memref<2x64xf32>) {
  ^bb0(%s: f32, %p: f32, %x: f32, %hidden: f32, %i: index, %j: index, %l: index):
    %0 = arith.addf %s, %hidden : f32
    %1 = arith.truncf %p : f32 to bf16
    %2 = arith.truncf %x : f32 to bf16
    kernel.yield %0, %1, %2 : f32, bf16, bf16
  }
  }
  return %ok : i32
}

// CHECK: gpu.func @attention_0
// CHECK-SAME: nvvm.minctasm = 3 : i32
// CHECK: nvgpu.device_async_copy
// CHECK: scf.for
// CHECK: nvgpu.device_async_wait
// CHECK: gpu.barrier
// CHECK: nvgpu.ldmatrix
// CHECK: nvvm.mma.sync
// CHECK: gpu.shuffle{{ +}}xor
// CHECK: llvm.intr.exp2
// CHECK: nvvm.mma.sync
// CHECK: scf.yield
// CHECK-NOT: gpu.func
