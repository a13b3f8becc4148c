// RUN: mp-opt %s --mp-set-target=isa=avx512 --convert-scratch-to-llvm | FileCheck %s

// CHECK: module {
// CHECK: llvm.func @mp_scratch(i32, i64) -> !llvm.ptr
// CHECK-LABEL: @memory
// CHECK: llvm.call @mp_scratch(
// CHECK-NOT: runtime.scratch
func.func @memory(%bytes: index) -> memref<?xi8> {
  %0 = runtime.scratch 1, %bytes : memref<?xi8>
  return %0 : memref<?xi8>
}
