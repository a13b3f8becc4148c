// RUN: mp-opt %s --mp-bind-arguments | FileCheck %s
// RUN: mp-opt %s --mp-bind-arguments=in-place | FileCheck %s --check-prefix=INPLACE

// Inputs and outputs are memory that the caller has; a state may be written
// over the old one.
// CHECK: module attributes {mp.constants = [{mp.constant = dense<[1, 2, 3]>
// CHECK-SAME: mp.inputs = [{mp.element = f32, mp.name = "x", type = tensor<?x4xf32>}
// CHECK-SAME: mp.outputs = [{mp.element = f32, mp.name = "y", type = tensor<?x4xf32>}
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[IN:.*]]: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr) -> i32
// CHECK: runtime.check_inputs %[[IN]] ["x", "w"] [memref<?x4xf32>, memref<8xf32>]
// CHECK: %[[X:.*]] = runtime.input %[[IN]][0] : memref<?x4xf32>
// CHECK: bufferization.to_tensor %[[X]] restrict :
// CHECK: %[[W:.*]] = runtime.input %[[IN]][1] : memref<8xf32>
// CHECK: bufferization.to_tensor %[[W]] restrict :
// CHECK: runtime.constant @mp_constant_0 : memref<3xi64>
// CHECK: %[[NEW:.*]] = runtime.output %[[OUT]][1] () : memref<8xf32>
// CHECK: %[[Y:.*]] = runtime.output %[[OUT]][0] (%{{.*}}) : memref<?x4xf32>
// CHECK: %[[Y_TENSOR:.*]] = bufferization.to_tensor %[[Y]] restrict writable
// CHECK: %[[Y_THERE:.*]] = bufferization.materialize_in_destination %{{.*}} in %[[Y_TENSOR]] : (tensor
// CHECK: materialize_in_destination %[[Y_THERE]] in restrict writable %[[Y]]
// CHECK: materialize_in_destination %{{.*}} in restrict writable %[[NEW]]

// INPLACE: %[[W:.*]] = runtime.input %{{.*}}[1] : memref<8xf32>
// INPLACE: %[[OLD:.*]] = bufferization.to_tensor %[[W]] restrict writable :
// INPLACE-NOT: runtime.output %{{.*}}[1]
// INPLACE: %[[THERE:.*]] = bufferization.materialize_in_destination %[[OLD]] in %[[OLD]]
// The state is the last.
// INPLACE-NOT: materialize_in_destination {{.*}} restrict writable %[[W]]
// INPLACE-COUNT-2: materialize_in_destination {{.*}} restrict writable
// INPLACE: materialize_in_destination %[[THERE]] in restrict writable %[[W]]
func.func @main(%x: tensor<?x4xf32> {mp.name = "x", mp.element = f32},
                %w: tensor<8xf32> {mp.name = "w", mp.element = f32},
                %c: tensor<3xi64> {mp.constant = dense<[1, 2, 3]> : tensor<3xi64>, mp.element = i64})
    -> (tensor<?x4xf32> {mp.name = "y", mp.element = f32},
        tensor<8xf32> {mp.name = "w_new", mp.element = f32, mp.state = 1 : i64},
        tensor<3xi64> {mp.name = "z", mp.element = i64}) {
  return %x, %w, %c : tensor<?x4xf32>, tensor<8xf32>, tensor<3xi64>
}
