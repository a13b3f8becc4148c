// RUN: mp-opt %s --split-input-file --mp-keep-working-copies | FileCheck %s

// Products read the 16-bit copy, also through views; the update writes it.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  // CHECK: %[[X:.*]] = runtime.input %{{.*}}[0]
  // CHECK: %[[W:.*]] = runtime.input %{{.*}}[1]
  // CHECK: %[[COPY:.*]] = device.shadow %[[W]] : memref<64x128xf32> as memref<64x128xbf16>
  // CHECK: %[[HALF:.*]] = memref.subview %[[COPY]][0, 64] [64, 64] [1, 1] : memref<64x128xbf16>
  %x = runtime.input %inputs[0] : memref<128x64xbf16>
  %w = runtime.input %inputs[1] : memref<64x128xf32>
  %half = memref.subview %w[0, 64] [64, 64] [1, 1] : memref<64x128xf32> to memref<64x64xf32, strided<[128, 1], offset: 64>>
  %y = runtime.output %outputs[0] () : memref<128x128xbf16>
  %z = runtime.output %outputs[1] () : memref<128x64xbf16>
  // CHECK: kernel.contract {indexing_maps = [#{{.*}}, #{{.*}}, #{{.*}}]} ins(%[[X]], %[[COPY]] :
  kernel.contract {indexing_maps = [#a, #b, #c], round_b = bf16} ins(%x, %w : memref<128x64xbf16>, memref<64x128xf32>) outs(%y : memref<128x128xbf16>) {
  ^bb0(%s: f32):
    %0 = arith.truncf %s : f32 to bf16
    kernel.yield %0 : bf16
  }
  // CHECK: kernel.contract {indexing_maps = [#{{.*}}, #{{.*}}, #{{.*}}]} ins(%[[X]], %[[HALF]] :
  kernel.contract {indexing_maps = [#a, #b, #c], round_b = bf16} ins(%x, %half : memref<128x64xbf16>, memref<64x64xf32, strided<[128, 1], offset: 64>>) outs(%z : memref<128x64xbf16>) {
  ^bb0(%s: f32):
    %0 = arith.truncf %s : f32 to bf16
    kernel.yield %0 : bf16
  }
  // CHECK: linalg.generic {{.*}} outs(%[[W]], %[[COPY]] : memref<64x128xf32>, memref<64x128xbf16>)
  // CHECK:   %[[NEW:.*]] = arith.mulf
  // CHECK:   %[[ROUNDED:.*]] = arith.truncf %[[NEW]] : f32 to bf16
  // CHECK:   linalg.yield %[[NEW]], %[[ROUNDED]] : f32, bf16
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%w : memref<64x128xf32>) {
  ^bb0(%o: f32):
    %0 = arith.mulf %o, %o : f32
    linalg.yield %0 : f32
  }
  return %ok : i32
}

// -----

// A state that a product writes, one that nothing writes, one that only a small
// product reads, and one whose elements are read one by one, stay alone.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @main
// CHECK-NOT: device.shadow
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<64x64xbf16>
  %v = runtime.input %inputs[1] : memref<64x64xf32>
  %w = runtime.input %inputs[2] : memref<64x64xf32>
  %filter = runtime.input %inputs[5] : memref<64x64x3xf32>
  %u = runtime.input %inputs[3] : memref<8x8xf32>
  %t = runtime.input %inputs[4] : memref<8x8xbf16>
  %y = runtime.output %outputs[0] () : memref<64x64xbf16>
  %r = runtime.output %outputs[2] () : memref<64x64xf32>
  %z = runtime.output %outputs[1] () : memref<8x8xf32>
  kernel.contract {indexing_maps = [#a, #b, #c], round_b = bf16} ins(%x, %v : memref<64x64xbf16>, memref<64x64xf32>) outs(%y : memref<64x64xbf16>) {
  ^bb0(%s: f32):
    %0 = arith.truncf %s : f32 to bf16
    kernel.yield %0 : bf16
  }
  kernel.contract {indexing_maps = [#a, #b, #c], round_b = bf16} ins(%y, %w : memref<64x64xbf16>, memref<64x64xf32>) outs(%v : memref<64x64xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  }
  kernel.contract {indexing_maps = [#a, #b, #c], round_b = bf16} ins(%t, %u : memref<8x8xbf16>, memref<8x8xf32>) outs(%z : memref<8x8xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  }
  kernel.contract {indexing_maps = [#a, affine_map<(m, n, k) -> (n, k, 1)>, #c], round_b = bf16} ins(%x, %filter : memref<64x64xbf16>, memref<64x64x3xf32>) outs(%r : memref<64x64xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j, l) -> (i, j, l)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%filter : memref<64x64x3xf32>) {
  ^bb0(%o: f32):
    %0 = arith.mulf %o, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%u : memref<8x8xf32>) {
  ^bb0(%o: f32):
    %0 = arith.mulf %o, %o : f32
    linalg.yield %0 : f32
  }
  return %ok : i32
}
