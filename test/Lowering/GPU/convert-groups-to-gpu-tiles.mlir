// RUN: mp-opt %s --split-input-file --kernel-select-gpu-strategy --convert-groups-to-gpu --canonicalize --cse | FileCheck %s

// A stage is on its way before the loop. In it, each thread copies eight chunks
// of 16 bytes of a and of b, all of them in bounds; a warp makes 4 x 8 products
// for each of four steps of 16 from 4 + 4 loads of four matrices, of which those
// of b are transposed. The bias is read once for all rows.
// CHECK-LABEL: func.func @main
// CHECK: device.launch @kernels::@contract_0 grid [256, 1, 1] block [128, 1, 1] shared 65536(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {{.*}} : memref<2048x512xbf16>, memref<512x2048xbf16>, memref<2048xf32>, memref<2048x2048xbf16>
// CHECK-LABEL: gpu.module @kernels
// CHECK: gpu.func @contract_0(%[[A:.*]]: memref<2048x512xbf16>, %[[B:.*]]: memref<512x2048xbf16>, %[[BIAS:.*]]: memref<2048xf32>, %[[C:.*]]: memref<2048x2048xbf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>}
// CHECK: gpu.dynamic_shared_memory
// CHECK-COUNT-16: nvgpu.device_async_copy {{.*}}, 8 {bypassL1}
// CHECK: scf.for {{.*}} -> (f32, f32
// CHECK: nvgpu.device_async_wait {{.*}} {numGroups = 0 : i32}
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi
// CHECK: scf.if
// CHECK-COUNT-16: nvgpu.device_async_copy {{.*}}, 8 {bypassL1}
// CHECK-NOT: nvgpu.device_async_copy
// CHECK: nvgpu.device_async_create_group
// CHECK-COUNT-4: nvgpu.ldmatrix {{.*}}transpose = false
// CHECK-COUNT-4: nvgpu.ldmatrix {{.*}}transpose = true
// CHECK-COUNT-32: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK-COUNT-8: nvgpu.ldmatrix
// CHECK-COUNT-32: nvvm.mma.sync
// CHECK-COUNT-8: nvgpu.ldmatrix
// CHECK-COUNT-32: nvvm.mma.sync
// CHECK-COUNT-8: nvgpu.ldmatrix
// CHECK-COUNT-32: nvvm.mma.sync
// CHECK: scf.yield
// CHECK: vector.load {{.*}} : memref<2048xf32>, vector<2xf32>
// CHECK: arith.maximumf
// CHECK: vector.store {{.*}} vector<2xbf16>
// CHECK-NOT: scf.if
// CHECK: gpu.return
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  %a = runtime.input %inputs[0] : memref<2048x512xbf16>
  %b = runtime.input %inputs[1] : memref<512x2048xbf16>
  %bias = runtime.input %inputs[2] : memref<2048xf32>
  %c = runtime.output %outputs[0] () : memref<2048x2048xbf16>
  device.group contract {
    kernel.contract {indexing_maps = [
        affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (n)>, affine_map<(m, n, k) -> (m, n)>]}
        ins(%a, %b : memref<2048x512xbf16>, memref<512x2048xbf16>) extra(%bias : memref<2048xf32>) outs(%c : memref<2048x2048xbf16>) {
    ^bb0(%sum: f32, %x: f32):
      %0 = arith.addf %sum, %x : f32
      %1 = arith.maximumf %0, %zero : f32
      %2 = arith.truncf %1 : f32 to bf16
      kernel.yield %2 : bf16
    }
  }
  return %ok : i32
}

// -----

// Operands that are read for each element are read in runs, as are the sums,
// which the threads leave in shared memory: more of it than the tiles need. Its
// rows are eight elements apart. Eight rows of operands are read before the first
// row is computed.
// CHECK-LABEL: func.func @main
// CHECK: device.launch @kernels::@contract_0 grid [256, 1, 1] block [128, 1, 1] shared 69632
// CHECK: gpu.func @contract_0
// CHECK: scf.for {{.*}} -> (f32, f32
// CHECK: %[[SUMS:.*]] = memref.view %{{.*}} : memref<?xi8, #gpu.address_space<workgroup>> to memref<17408xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT: gpu.barrier
// CHECK-COUNT-64: vector.store {{.*}}, %[[SUMS]][{{.*}}] {{.*}} vector<2xf32>
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK-COUNT-8: vector.load {{.*}} : memref<4194304xbf16>, vector<8xbf16>
// CHECK: vector.load %[[SUMS]][{{.*}}] {{.*}} vector<8xf32>
// CHECK-COUNT-8: arith.addf
// CHECK: vector.store {{.*}} vector<8xbf16>
// CHECK: gpu.return
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %a = runtime.input %inputs[0] : memref<2048x512xbf16>
  %b = runtime.input %inputs[1] : memref<512x2048xbf16>
  %residual = runtime.input %inputs[2] : memref<2048x2048xbf16>
  %c = runtime.output %outputs[0] () : memref<2048x2048xbf16>
  device.group contract {
    kernel.contract {indexing_maps = [
        affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (m, n)>, affine_map<(m, n, k) -> (m, n)>]}
        ins(%a, %b : memref<2048x512xbf16>, memref<512x2048xbf16>) extra(%residual : memref<2048x2048xbf16>) outs(%c : memref<2048x2048xbf16>) {
    ^bb0(%sum: f32, %x: bf16):
      %0 = arith.extf %x : bf16 to f32
      %1 = arith.addf %sum, %0 : f32
      %2 = arith.truncf %1 : f32 to bf16
      kernel.yield %2 : bf16
    }
  }
  return %ok : i32
}

// -----

// a goes through registers, since its rows become columns; elements after the
// edges are zero.
// CHECK-LABEL: func.func @main
// CHECK: device.launch @kernels::@contract_0 grid [{{.*}}] block [{{.*}}] shared
// CHECK: gpu.func @contract_0
// CHECK: scf.for {{.*}} -> (f32, f32
// CHECK: gpu.barrier
// CHECK: nvgpu.device_async_copy {{.*}}, 4, %{{.*}} {bypassL1}
// CHECK: vector.load {{.*}} : memref<150000xf32>, vector<4xf32>
// CHECK: nvgpu.device_async_create_group
// CHECK: scf.for
// CHECK: llvm.intr.fma
// CHECK: memref.store {{.*}} #gpu.address_space<workgroup>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %a = runtime.input %inputs[0] : memref<500x300xf32>
  %b = runtime.input %inputs[1] : memref<300x200xf32>
  %c = runtime.output %outputs[0] () : memref<500x200xf32>
  device.group contract {
    kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
        ins(%a, %b : memref<500x300xf32>, memref<300x200xf32>) outs(%c : memref<500x200xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return %ok : i32
}
