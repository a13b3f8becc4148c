// RUN: mp-opt %s --mp-lower-to-nvvm | FileCheck %s
// RUN: mp-opt %s --mp-lower-to-nvvm=emulated | FileCheck %s --check-prefix=EMULATED

// A launch, and a kernel that calls no library: the function of 16 bit is one of
// f32, rounded.
// CHECK: device.launch @kernels::@map_0 grid [2, 1, 1] block [256, 1, 1]
// CHECK: gpu.module @kernels
// CHECK: llvm.func @map_0(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
// CHECK: llvm.fpext %{{.*}} : vector<8xbf16> to vector<8xf32>
// CHECK-NOT: llvm.call
// CHECK: llvm.fptrunc %{{.*}} : vector<8xf32> to vector<8xbf16>

// The emulator rounds in integers, and has a table of kernels.
// EMULATED-NOT: gpu.module
// EMULATED: llvm.func {{.*}}@map_0
// EMULATED-NOT: llvm.fptrunc
// EMULATED: mp_emulated_kernels
#id = affine_map<(i) -> (i)>
func.func @main(%x: tensor<4096xbf16> {mp.element = bf16, mp.name = "x"})
    -> (tensor<4096xbf16> {mp.element = bf16, mp.name = "y"}) {
  %0 = tensor.empty() : tensor<4096xbf16>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4096xbf16>) outs(%0 : tensor<4096xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %1 = math.tanh %a : bf16
    linalg.yield %1 : bf16
  } -> tensor<4096xbf16>
  return %y : tensor<4096xbf16>
}
