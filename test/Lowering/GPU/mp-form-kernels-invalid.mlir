// RUN: mp-opt %s --split-input-file --mp-form-kernels --verify-diagnostics

module attributes {mp.inputs = [{mp.name = "x"}]} {
  // expected-error@+1 {{input 'x': the size of axis 0 is not known, but code for a device needs all sizes: --dim=NAME=SIZE gives that of a named one, data give all}}
  func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
    %ok = arith.constant 0 : i32
    %x = runtime.input %inputs[0] : memref<?x4xf32>
    return %ok : i32
  }
}

// -----

func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %x = runtime.input %inputs[0] : memref<i64>
  %n = memref.load %x[] : memref<i64>
  %size = arith.index_cast %n : i64 to index
  // expected-error@+1 {{has no code for devices: a result's size depends on data; --device=cpu runs it}}
  %y = memref.alloc(%size) : memref<?xf32>
  memref.dealloc %y : memref<?xf32>
  return %ok : i32
}

// -----

func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %x = runtime.input %inputs[0] : memref<4xi64>
  scf.for %i = %c0 to %c4 step %c1 {
    // expected-error@+1 {{has no code for devices: random numbers inside of a loop or a branch; --device=cpu runs it}}
    %s = runtime.draw 3
    memref.store %s, %x[%i] : memref<4xi64>
  }
  return %ok : i32
}
