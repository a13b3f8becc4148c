// RUN: kernel-opt %s --convert-contract-to-gpu --canonicalize --cse | FileCheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// What lies along K is read by ldmatrix, 16 bytes at a time, the rest element by
// element; all is rounded before it is multiplied.
module attributes {kernel.fp32_products = "tf32"} {
  // CHECK-LABEL: func.func @products
  // CHECK-NEXT: device.launch @kernels::@contract grid [256, 1, 1] block [128, 1, 1] shared 65536
  func.func @products(%a: memref<2048x512xf32>, %b: memref<512x2048xf32>, %c: memref<2048x2048xf32>) {
    kernel.contract {indexing_maps = [#a, #b, #c]}
        ins(%a, %b : memref<2048x512xf32>, memref<512x2048xf32>) outs(%c : memref<2048x2048xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
    return
  }
}

// CHECK-LABEL: gpu.func @contract
// CHECK: nvgpu.device_async_copy {{.*}}, 4 {bypassL1}
// CHECK: nvgpu.ldmatrix %{{.*}} {numTiles = 4 : i32, transpose = false} : memref<{{.*}}xf32, #gpu.address_space<workgroup>> -> vector<4x1xf32>
// CHECK: nvvm.convert.float.to.tf32 %{{.*}} {rnd = #nvvm.fp_rnd_mode<rna>}
// CHECK: %[[B:.*]] = memref.load %{{.*}} : memref<{{.*}}xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT: nvvm.convert.float.to.tf32 %[[B]] {rnd = #nvvm.fp_rnd_mode<rna>}
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>
