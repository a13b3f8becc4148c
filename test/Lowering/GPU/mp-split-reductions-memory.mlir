// RUN: mp-opt %s --mp-split-reductions=max-partial-bytes=1048576 | FileCheck %s
// RUN: mp-opt %s --mp-split-reductions=max-partial-bytes=1048576 --mp-merge-groups | FileCheck %s --check-prefix=ORDER
// RUN: mp-opt %s --mp-split-reductions --mp-merge-groups | FileCheck %s --check-prefix=ENOUGH

// Partial products of three sums, of 512 KiB each, in 1 MiB: the third ones
// overwrite the first ones, whose sum is computed before. With enough memory all
// three products are parts of one group, and so are their sums.

#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK: module attributes {mp.arena = 1073152 : i64}
// CHECK-LABEL: func.func @main
// ORDER: module attributes {mp.arena = 1073152 : i64}
// ENOUGH: module attributes {mp.arena = 1597440 : i64}
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<8192x64xf32>
  %v = runtime.input %inputs[1] : memref<8192x32xf32>
  %w = runtime.input %inputs[2] : memref<8192x32xf32>
  %u = runtime.input %inputs[3] : memref<8192x32xf32>
  %r = runtime.output %outputs[0] () : memref<64x32xf32>
  %s = runtime.output %outputs[1] () : memref<64x32xf32>
  %t = runtime.output %outputs[2] () : memref<64x32xf32>
  // CHECK: %[[END:.*]] = arith.constant 0 : index
  // CHECK-NEXT: %[[THIRD:.*]] = memref.view %{{.*}}[%[[END]]][] : {{.*}} to memref<64x64x32xf32>
  // CHECK: %[[MIDDLE:.*]] = arith.constant 524288 : index
  // CHECK-NEXT: %[[SECOND:.*]] = memref.view %{{.*}}[%[[MIDDLE]]][] : {{.*}} to memref<64x64x32xf32>
  // CHECK: %[[BEGIN:.*]] = arith.constant 0 : index
  // CHECK-NEXT: %[[FIRST:.*]] = memref.view %{{.*}}[%[[BEGIN]]][] : {{.*}} to memref<64x64x32xf32>
  // CHECK: kernel.contract {{.*}} outs(%[[FIRST]] : memref<64x64x32xf32>)
  // CHECK: kernel.contract {{.*}} outs(%[[SECOND]] : memref<64x64x32xf32>)
  // CHECK: kernel.contract {{.*}} outs(%[[THIRD]] : memref<64x64x32xf32>)
  // ORDER: kernel.contract {{.*}} outs(%[[FIRST:[^ ]*]] : memref<64x64x32xf32>)
  // ORDER: ins(%[[FIRST]] : memref<64x64x32xf32>)
  // ORDER: kernel.contract
  // ENOUGH: kernel.contract
  // ENOUGH-NOT: ["reduction", "parallel", "parallel"]
  // ENOUGH: kernel.contract
  // ENOUGH-NOT: ["reduction", "parallel", "parallel"]
  // ENOUGH: kernel.contract
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %v : memref<8192x64xf32>, memref<8192x32xf32>) outs(%r : memref<64x32xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %w : memref<8192x64xf32>, memref<8192x32xf32>) outs(%s : memref<64x32xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %u : memref<8192x64xf32>, memref<8192x32xf32>) outs(%t : memref<64x32xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return %ok : i32
}
