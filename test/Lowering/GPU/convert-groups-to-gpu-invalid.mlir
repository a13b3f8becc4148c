// RUN: mp-opt %s --convert-groups-to-gpu --split-input-file --verify-diagnostics

func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %y = runtime.output %outputs[0] () : memref<8xf32>
  // expected-error @+1 {{expected a strategy}}
  device.group elementwise {
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%y : memref<8xf32>) {
    ^bb0(%x: f32):
      linalg.yield %x : f32
    }
  }
  return %ok : i32
}

// -----

func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %a = runtime.input %inputs[0] : memref<8x64xf32>
  %y = runtime.output %outputs[0] () : memref<8xf32>
  device.group reduce strategy <by = blocks, blocks = 4, threads = 32> {
    // expected-error @+1 {{expected 8 blocks of 32 threads, found #device.strategy<by = blocks, blocks = 4, threads = 32>}}
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%a : memref<8x64xf32>) outs(%y : memref<8xf32>) {
    ^bb0(%x: f32, %s: f32):
      %t = arith.addf %x, %s : f32
      linalg.yield %t : f32
    }
  }
  return %ok : i32
}

// -----

func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %a = runtime.input %inputs[0] : memref<8x8xf32>
  %y = runtime.output %outputs[0] () : memref<8x8xf32>
  device.group contract strategy <by = tiles, blocks = 1, threads = 32> {
    // expected-error @+1 {{expected a tile}}
    kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
        ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%y : memref<8x8xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return %ok : i32
}

// -----

func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  // expected-error @+1 {{expected an op of the group's kind}}
  device.group reduce strategy <by = threads, blocks = 1, threads = 32> {
  }
  return %ok : i32
}

// -----

#r = affine_map<(i) -> (i)>
#back = affine_map<(i) -> (255 - i)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<8x256xf32>
  %y = runtime.output %outputs[0] () : memref<256xf32>
  device.group row_wise strategy <by = rows, blocks = 8, threads = 32, per_row = 32> {
    // expected-error @+1 {{has no form that threads of a row can compute}}
    scf.forall (%i) in (8) {
      %row = memref.subview %x[%i, 0] [1, 256] [1, 1] : memref<8x256xf32> to memref<256xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [#back, #r], iterator_types = ["parallel"]} ins(%row : memref<256xf32, strided<[1], offset: ?>>) outs(%y : memref<256xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    }
  }
  return %ok : i32
}
