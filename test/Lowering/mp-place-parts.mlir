// RUN: mp-opt %s --mp-place-parts=min-parts=3 | FileCheck %s
// RUN: mp-opt %s --mp-place-parts | FileCheck %s --check-prefix=SHORT

// Chains of 16 parts or fewer stay as they are, unless one op computes all of
// them.
// SHORT-NOT: memref.subview
// SHORT-LABEL: @one_op
// SHORT: %[[ALL:.*]] = memref.alloc() {{.*}} : memref<2x24xf32>
// SHORT: %[[FIRST:.*]] = memref.subview %[[ALL]][0, 0] [2, 12]
// SHORT: %[[DIVIDED:.*]] = memref.expand_shape %[[FIRST]] {{\[\[}}0], [1, 2]]
// SHORT: bufferization.to_tensor %[[DIVIDED]]
// SHORT: memref.subview %[[ALL]][0, 12] [2, 12]
// SHORT: linalg.generic
// SHORT-NOT: memref.copy
// SHORT-NOT: tensor.insert_slice
// SHORT: return

// A part that only the chain reads is computed in the chain's memory; inputs
// and parts that others read are copied to it.
// CHECK-LABEL: @parts
// CHECK: %[[ALL:.*]] = memref.alloc() {{.*}} : memref<2x12xf32>
// CHECK-NEXT: %[[VIEW:.*]] = memref.subview %[[ALL]][0, 0] [2, 4]
// CHECK-NEXT: %[[PLACE:.*]] = bufferization.to_tensor %[[VIEW]] restrict writable
// CHECK-NEXT: %[[PART:.*]] = linalg.exp {{.*}} outs(%[[PLACE]]
// CHECK-NEXT: %[[OTHER:.*]] = tensor.empty
// CHECK-NEXT: %[[READ:.*]] = linalg.exp {{.*}} outs(%[[OTHER]]
// CHECK-NEXT: materialize_in_destination %[[PART]] in restrict writable %[[VIEW]]
// CHECK: memref.subview %[[ALL]][0, 4] [2, 4]
// CHECK-NEXT: memref.copy
// CHECK-NEXT: bufferization.to_buffer %[[READ]] read_only
// CHECK-NEXT: memref.subview %[[ALL]][0, 8] [2, 4]
// CHECK-NEXT: memref.copy
// CHECK-NEXT: bufferization.to_tensor %[[ALL]] restrict writable
// CHECK-NOT: tensor.insert_slice
// CHECK: return
func.func @parts(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>)
    -> (tensor<2x12xf32>, tensor<2x4xf32>) {
  %0 = tensor.empty() : tensor<2x4xf32>
  %1 = linalg.exp ins(%x : tensor<2x4xf32>) outs(%0 : tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = tensor.empty() : tensor<2x4xf32>
  %3 = linalg.exp ins(%y : tensor<2x4xf32>) outs(%2 : tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = tensor.empty() : tensor<2x12xf32>
  %5 = tensor.insert_slice %1 into %4[0, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<2x12xf32>
  %6 = tensor.insert_slice %x into %5[0, 4] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<2x12xf32>
  %7 = tensor.insert_slice %3 into %6[0, 8] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<2x12xf32>
  return %7, %3 : tensor<2x12xf32>, tensor<2x4xf32>
}

// Slices that overlap are all copied, in their order, as the last one counts;
// so are parts with memory that another op begins with, too.
// CHECK-LABEL: @overlap
// CHECK-NOT: materialize_in_destination
// CHECK-COUNT-3: memref.copy
// CHECK-LABEL: @shared
// CHECK-NOT: materialize_in_destination
// CHECK-COUNT-3: memref.copy
// CHECK: return
func.func @overlap(%x: tensor<4xf32>) -> tensor<12xf32> {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = linalg.exp ins(%x : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %2 = tensor.empty() : tensor<12xf32>
  %3 = tensor.insert_slice %x into %2[0] [4] [1] : tensor<4xf32> into tensor<12xf32>
  %4 = tensor.insert_slice %1 into %3[2] [4] [1] : tensor<4xf32> into tensor<12xf32>
  %5 = tensor.insert_slice %x into %4[8] [4] [1] : tensor<4xf32> into tensor<12xf32>
  return %5 : tensor<12xf32>
}
func.func @shared(%x: tensor<4xf32>) -> (tensor<12xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %2 = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%1 : tensor<4xf32>) -> tensor<4xf32>
  %3 = tensor.empty() : tensor<12xf32>
  %4 = tensor.insert_slice %x into %3[0] [4] [1] : tensor<4xf32> into tensor<12xf32>
  %5 = tensor.insert_slice %2 into %4[4] [4] [1] : tensor<4xf32> into tensor<12xf32>
  %6 = tensor.insert_slice %x into %5[8] [4] [1] : tensor<4xf32> into tensor<12xf32>
  %7 = linalg.exp ins(%x : tensor<4xf32>) outs(%1 : tensor<4xf32>) -> tensor<4xf32>
  return %6, %7 : tensor<12xf32>, tensor<4xf32>
}

// The memory of an output that only the chain fills is the chain's, and the
// sizes of parts may be known at run time only.
// CHECK-LABEL: @output
// CHECK-SAME: %[[OUT:.*]]: memref<?xf32>
// CHECK-NOT: memref.alloc
// CHECK: memref.subview %[[OUT]][0] [%[[N:.*]]] [1]
// CHECK: %[[FIRST:.*]] = linalg.exp
// CHECK: memref.subview %[[OUT]][%[[N]]] [3] [1]
// CHECK: linalg.exp
// CHECK: materialize_in_destination %[[FIRST]]
// CHECK: memref.copy
// CHECK: return
func.func @output(%out: memref<?xf32>, %n: index, %x: tensor<?xf32>, %y: tensor<3xf32>) {
  %three = arith.constant 3 : index
  %sum = arith.addi %n, %three : index
  %all = arith.addi %sum, %n : index
  %there = bufferization.to_tensor %out restrict writable : memref<?xf32> to tensor<?xf32>
  %0 = tensor.empty(%n) : tensor<?xf32>
  %1 = linalg.exp ins(%x : tensor<?xf32>) outs(%0 : tensor<?xf32>) -> tensor<?xf32>
  %2 = tensor.empty() : tensor<3xf32>
  %3 = linalg.exp ins(%y : tensor<3xf32>) outs(%2 : tensor<3xf32>) -> tensor<3xf32>
  %4 = tensor.empty(%all) : tensor<?xf32>
  %5 = tensor.insert_slice %1 into %4[0] [%n] [1] : tensor<?xf32> into tensor<?xf32>
  %6 = tensor.insert_slice %3 into %5[%n] [3] [1] : tensor<3xf32> into tensor<?xf32>
  %7 = tensor.insert_slice %x into %6[%sum] [%n] [1] : tensor<?xf32> into tensor<?xf32>
  %8 = bufferization.materialize_in_destination %7 in %there : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  bufferization.materialize_in_destination %8 in restrict writable %out : (tensor<?xf32>, memref<?xf32>) -> ()
  return
}

func.func @one_op(%x: tensor<2x3x4xf32>) -> tensor<2x24xf32> {
  %0 = tensor.empty() : tensor<2x3x4xf32>
  %1 = tensor.empty() : tensor<2x3x4xf32>
  %2:2 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x3x4xf32>) outs(%0, %1 : tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  ^bb0(%in: f32, %a: f32, %b: f32):
    %n = arith.negf %in : f32
    linalg.yield %in, %n : f32, f32
  } -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>)
  %3 = tensor.collapse_shape %2#0 [[0], [1, 2]] : tensor<2x3x4xf32> into tensor<2x12xf32>
  %4 = tensor.collapse_shape %2#1 [[0], [1, 2]] : tensor<2x3x4xf32> into tensor<2x12xf32>
  %5 = tensor.empty() : tensor<2x24xf32>
  %6 = tensor.insert_slice %3 into %5[0, 0] [2, 12] [1, 1] : tensor<2x12xf32> into tensor<2x24xf32>
  %7 = tensor.insert_slice %4 into %6[0, 12] [2, 12] [1, 1] : tensor<2x12xf32> into tensor<2x24xf32>
  return %7 : tensor<2x24xf32>
}
