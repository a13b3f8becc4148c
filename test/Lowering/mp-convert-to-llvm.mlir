// RUN: mp-opt %s --mp-set-target=isa=avx512 --mp-convert-to-llvm | FileCheck %s

// CHECK: module {
// CHECK-DAG: llvm.mlir.global internal constant @mp_input_names("x\00w\00")
// CHECK-DAG: llvm.mlir.global internal constant @mp_input_sizes(dense<[1, -1, 2, 3, 4]>
// CHECK-LABEL: llvm.func @main
// CHECK-SAME: %[[IN:.*]]: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr
// CHECK: llvm.call @mp_check_inputs(%[[IN]],
// CHECK: llvm.getelementptr %[[IN]][0, 1]
// CHECK: llvm.call @mp_output(
// CHECK: llvm.call @mp_allocate(
// CHECK: %[[BODY:.*]] = llvm.mlir.addressof @body_frame
// CHECK: llvm.call @mp_parallel_for(%{{.*}}, %{{.*}}, %[[BODY]],
// CHECK: llvm.call @mp_fail(
// CHECK: llvm.call @mp_free(
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %c1 = arith.constant 1 : index
  runtime.check_inputs %inputs ["x", "w"] [memref<?xf32>, memref<3x4xf32>]
  %0 = runtime.input_size %inputs[0, 0]
  %x = runtime.input %inputs[0] : memref<?xf32>
  %y = runtime.output %outputs[1](%0) : memref<?xf32>
  %w = runtime.constant @weights : memref<4xf32>
  %t = memref.alloc(%0) : memref<?xf32>
  runtime.launch @body of %0 by %c1(%t) : memref<?xf32>
  runtime.fail "size %0, expected %1"(%0, %c1)
  memref.dealloc %t : memref<?xf32>
  %ok = arith.constant 0 : i32
  return %ok : i32
}

// What nothing else reaches is said so.
// CHECK-LABEL: llvm.func @body(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: i64
func.func private @body(%t: memref<?xf32>, %begin: index, %end: index) attributes {mp.exclusive = array<i64: 1>} {
  return
}

// To nearest even in integers; NaNs become quiet.
// CHECK-LABEL: llvm.func @round
// CHECK: llvm.fcmp "uno"
// CHECK: llvm.trunc %{{.*}} : i32 to i16
// CHECK-NOT: llvm.fptrunc
func.func @round(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}
