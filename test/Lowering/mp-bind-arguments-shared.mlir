// RUN: mp-opt %s --split-input-file --mp-bind-arguments | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-bind-arguments=in-place | FileCheck %s --check-prefix=INPLACE
// RUN: mp-opt %s --split-input-file --mp-lower-to-llvm=isa=avx2 | FileCheck %s --check-prefix=LLVM
// RUN: mp-opt %s --split-input-file --mp-lower-to-llvm="isa=avx2 in-place" | FileCheck %s --check-prefix=LLVM

// A branch yields one value twice: both outputs are copied.
// LLVM: llvm.func @main
// CHECK: module attributes {mp.constants = [], mp.inputs = [{mp.element = i1, mp.name = "twice"
// CHECK: %[[Y:.*]] = runtime.output %{{.*}}[0]
// CHECK: %[[Z:.*]] = runtime.output %{{.*}}[1]
// CHECK: %[[R:.*]]:2 = scf.if
// CHECK: %[[FIRST:.*]] = bufferization.alloc_tensor() copy(%[[R]]#0)
// CHECK-NEXT: %[[SECOND:.*]] = bufferization.alloc_tensor() copy(%[[R]]#1)
// CHECK-NEXT: %[[Y_THERE:.*]] = bufferization.materialize_in_destination %[[FIRST]] in %{{.*}} : (tensor<2xf32>, tensor<2xf32>)
// CHECK-NEXT: %[[Z_THERE:.*]] = bufferization.materialize_in_destination %[[SECOND]] in
// CHECK-NEXT: materialize_in_destination %[[Y_THERE]] in restrict writable %[[Y]]
// CHECK-NEXT: materialize_in_destination %[[Z_THERE]] in restrict writable %[[Z]]
func.func @main(%c: tensor<i8> {mp.name = "twice", mp.element = i1},
                %x: tensor<2xf32> {mp.name = "x", mp.element = f32})
    -> (tensor<2xf32> {mp.name = "y", mp.element = f32},
        tensor<2xf32> {mp.name = "z", mp.element = f32}) {
  %zero = arith.constant 0 : i8
  %zeros = arith.constant dense<0.0> : tensor<2xf32>
  %bit = tensor.extract %c[] : tensor<i8>
  %is = arith.cmpi ne, %bit, %zero : i8
  %r:2 = scf.if %is -> (tensor<2xf32>, tensor<2xf32>) {
    %e = tensor.empty() : tensor<2xf32>
    %a = linalg.exp ins(%x : tensor<2xf32>) outs(%e : tensor<2xf32>) -> tensor<2xf32>
    %f = tensor.empty() : tensor<2xf32>
    %b = linalg.abs ins(%x : tensor<2xf32>) outs(%f : tensor<2xf32>) -> tensor<2xf32>
    scf.yield %a, %b : tensor<2xf32>, tensor<2xf32>
  } else {
    scf.yield %zeros, %zeros : tensor<2xf32>, tensor<2xf32>
  }
  return %r#0, %r#1 : tensor<2xf32>, tensor<2xf32>
}

// -----

// A value from outside that is an output, too; views of it are one buffer with
// it. Each result of a branch that shares nothing is computed in its place.
// CHECK: mp.name = "outside"
// CHECK: %[[OUTSIDE:.*]] = linalg.exp
// CHECK: %[[R:.*]]:2 = scf.if
// CHECK: %[[FIRST:.*]] = bufferization.alloc_tensor() copy(%[[OUTSIDE]])
// CHECK-NEXT: %[[SECOND:.*]] = bufferization.alloc_tensor() copy(%[[R]]#0)
// CHECK-NEXT: materialize_in_destination %[[FIRST]] in %{{.*}} : (tensor<1x2xf32>, tensor<1x2xf32>)
// CHECK-NEXT: materialize_in_destination %[[SECOND]] in %{{.*}} : (tensor<2xf32>, tensor<2xf32>)
// CHECK-NEXT: materialize_in_destination %[[R]]#1 in %{{.*}} : (tensor<2xf32>, tensor<2xf32>)
func.func @main(%c: tensor<i8> {mp.name = "outside", mp.element = i1},
                %x: tensor<1x2xf32> {mp.name = "x", mp.element = f32})
    -> (tensor<1x2xf32> {mp.name = "y", mp.element = f32},
        tensor<2xf32> {mp.name = "z", mp.element = f32},
        tensor<2xf32> {mp.name = "own", mp.element = f32}) {
  %zero = arith.constant 0 : i8
  %bit = tensor.extract %c[] : tensor<i8>
  %is = arith.cmpi ne, %bit, %zero : i8
  %o = tensor.empty() : tensor<1x2xf32>
  %y = linalg.exp ins(%x : tensor<1x2xf32>) outs(%o : tensor<1x2xf32>) -> tensor<1x2xf32>
  %v = tensor.collapse_shape %x [[0, 1]] : tensor<1x2xf32> into tensor<2xf32>
  %r:2 = scf.if %is -> (tensor<2xf32>, tensor<2xf32>) {
    %e = tensor.empty() : tensor<2xf32>
    %a = linalg.tanh ins(%v : tensor<2xf32>) outs(%e : tensor<2xf32>) -> tensor<2xf32>
    %f = tensor.empty() : tensor<2xf32>
    %b = linalg.abs ins(%v : tensor<2xf32>) outs(%f : tensor<2xf32>) -> tensor<2xf32>
    scf.yield %a, %b : tensor<2xf32>, tensor<2xf32>
  } else {
    %w = tensor.collapse_shape %y [[0, 1]] : tensor<1x2xf32> into tensor<2xf32>
    %f = tensor.empty() : tensor<2xf32>
    %b = linalg.floor ins(%v : tensor<2xf32>) outs(%f : tensor<2xf32>) -> tensor<2xf32>
    scf.yield %w, %b : tensor<2xf32>, tensor<2xf32>
  }
  return %y, %r#0, %r#1 : tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// Branches take one state or another: these are one buffer for bufferization,
// so that copies of both are written over them.
// INPLACE: mp.name = "states"
// INPLACE: %[[W:.*]] = runtime.input %{{.*}}[1]
// INPLACE: %[[V:.*]] = runtime.input %{{.*}}[2]
// INPLACE: %[[W_NEW:.*]] = bufferization.alloc_tensor() copy(
// INPLACE-NEXT: %[[V_NEW:.*]] = bufferization.alloc_tensor() copy(
// INPLACE-NEXT: materialize_in_destination %[[W_NEW]] in restrict writable %[[W]]
// INPLACE-NEXT: materialize_in_destination %[[V_NEW]] in restrict writable %[[V]]
func.func @main(%c: tensor<i8> {mp.name = "states", mp.element = i1},
                %w: tensor<2xf32> {mp.name = "w", mp.element = f32},
                %v: tensor<2xf32> {mp.name = "v", mp.element = f32})
    -> (tensor<2xf32> {mp.name = "w_new", mp.element = f32, mp.state = 1 : i64},
        tensor<2xf32> {mp.name = "v_new", mp.element = f32, mp.state = 2 : i64}) {
  %zero = arith.constant 0 : i8
  %bit = tensor.extract %c[] : tensor<i8>
  %is = arith.cmpi ne, %bit, %zero : i8
  %r = scf.if %is -> (tensor<2xf32>) {
    scf.yield %w : tensor<2xf32>
  } else {
    scf.yield %v : tensor<2xf32>
  }
  %e = tensor.empty() : tensor<2xf32>
  %a = linalg.exp ins(%r : tensor<2xf32>) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  %f = tensor.empty() : tensor<2xf32>
  %b = linalg.abs ins(%r : tensor<2xf32>) outs(%f : tensor<2xf32>) -> tensor<2xf32>
  return %b, %a : tensor<2xf32>, tensor<2xf32>
}
