// RUN: mp-opt %s --kernel-select-gpu-strategy --convert-groups-to-gpu | FileCheck %s

// An element and its number of the same type have two places in the shared
// memory of a part; the next part, which has other blocks, has the same two.

#row = affine_map<(i, j) -> (i, j)>
#one = affine_map<(i, j) -> (i)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<4x5000xi64>
  %v = runtime.output %outputs[0] () : memref<4xi64>
  %i = runtime.output %outputs[1] () : memref<4xi64>
  %w = runtime.output %outputs[2] () : memref<4xi64>
  %k = runtime.output %outputs[3] () : memref<4xi64>
  device.group fused {
    device.group reduce {
      linalg.generic {indexing_maps = [#row, #one, #one], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x5000xi64>) outs(%v, %i : memref<4xi64>, memref<4xi64>) {
      ^bb0(%a: i64, %best: i64, %number: i64):
        %0 = linalg.index 1 : index
        %1 = arith.index_cast %0 : index to i64
        %2:2 = kernel.arg_select gt %a, %1 over %best, %number : i64, i64
        linalg.yield %2#0, %2#1 : i64, i64
      }
    }
    device.group reduce {
      linalg.generic {indexing_maps = [#row, #one, #one], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x5000xi64>) outs(%w, %k : memref<4xi64>, memref<4xi64>) {
      ^bb0(%a: i64, %best: i64, %number: i64):
        %0 = linalg.index 1 : index
        %1 = arith.index_cast %0 : index to i64
        %2:2 = kernel.arg_select lt %a, %1 over %best, %number : i64, i64
        linalg.yield %2#0, %2#1 : i64, i64
      }
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @parts_0({{.*}}) workgroup(%[[A:.*]] : memref<256xi64, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}, %[[B:.*]] : memref<256xi64, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}) kernel
// CHECK-DAG: %[[FIRST:.*]] = memref.memory_space_cast %[[A]]
// CHECK-DAG: %[[SECOND:.*]] = memref.memory_space_cast %[[B]]
// CHECK: memref.store %{{.*}}, %[[FIRST]]
// CHECK-NEXT: memref.store %{{.*}}, %[[SECOND]]
