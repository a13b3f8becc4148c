// RUN: mp-opt %s --kernel-select-gpu-strategy --convert-groups-to-gpu --canonicalize --cse | FileCheck %s

// Elements that are neighbours along K are read by ldmatrix, 16 bytes at a time,
// the rest element by element; all are rounded before they are multiplied.
module attributes {device.target = #device.target<fp32_products = tf32>} {
  // CHECK-LABEL: func.func @main
  // CHECK: device.launch @kernels::@contract_0 grid [256, 1, 1] block [128, 1, 1] shared 65536
  func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
    %ok = arith.constant 0 : i32
    %a = runtime.input %inputs[0] : memref<2048x512xf32>
    %b = runtime.input %inputs[1] : memref<512x2048xf32>
    %c = runtime.output %outputs[0] () : memref<2048x2048xf32>
    device.group contract {
      kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
          ins(%a, %b : memref<2048x512xf32>, memref<512x2048xf32>) outs(%c : memref<2048x2048xf32>) {
      ^bb0(%sum: f32):
        kernel.yield %sum : f32
      }
    }
    return %ok : i32
  }
}

// CHECK-LABEL: gpu.func @contract_0
// CHECK: nvgpu.device_async_copy {{.*}}, 4 {bypassL1}
// CHECK: nvgpu.ldmatrix %{{.*}} {numTiles = 4 : i32, transpose = false} : memref<{{.*}}xf32, #gpu.address_space<workgroup>> -> vector<4x1xf32>
// CHECK: nvvm.convert.float.to.tf32 %{{.*}} {rnd = #nvvm.fp_rnd_mode<rna>}
// CHECK: %[[B:.*]] = memref.load %{{.*}} : memref<{{.*}}xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT: nvvm.convert.float.to.tf32 %[[B]] {rnd = #nvvm.fp_rnd_mode<rna>}
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>
