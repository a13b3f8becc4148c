// RUN: mp-opt %s --split-input-file --kernel-select-gpu-strategy --convert-groups-to-gpu | FileCheck %s

// What launches move and compute: places that are touched, each once.

// What both halves read counts once; the columns between them count not.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<8x64xf32>
  %b = runtime.input %inputs[1] : memref<32xf32>
  %y = runtime.output %outputs[0] () : memref<8x64xf32>
  %left = memref.subview %x[0, 0] [8, 32] [1, 1] : memref<8x64xf32> to memref<8x32xf32, strided<[64, 1]>>
  %middle = memref.subview %x[0, 16] [8, 32] [1, 1] : memref<8x64xf32> to memref<8x32xf32, strided<[64, 1], offset: 16>>
  %to = memref.subview %y[0, 0] [8, 32] [1, 2] : memref<8x64xf32> to memref<8x32xf32, strided<[64, 2]>>
  // CHECK: device.launch
  // CHECK-SAME: work = [#device.work<kind = map, read = 1664, written = 1024, operations = 512>]
  device.group elementwise {
    linalg.generic {indexing_maps = [#id, #id, #column, #id], iterator_types = ["parallel", "parallel"]}
        ins(%left, %middle, %b : memref<8x32xf32, strided<[64, 1]>>, memref<8x32xf32, strided<[64, 1], offset: 16>>, memref<32xf32>)
        outs(%to : memref<8x32xf32, strided<[64, 2]>>) {
    ^bb0(%l: f32, %m: f32, %c: f32, %old: f32):
      %0 = arith.addf %l, %m : f32
      %1 = arith.mulf %0, %c : f32
      linalg.yield %1 : f32
    }
  }
  return %ok : i32
}

// -----

// A sum reads what it adds to; f64 counts apart.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<8x64xf64>
  %y = runtime.output %outputs[0] () : memref<8xf64>
  // CHECK: work = [#device.work<kind = sum, read = 4160, written = 64, doubles = 512>]
  device.group reduce {
    linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x64xf64>) outs(%y : memref<8xf64>) {
    ^bb0(%a: f64, %b: f64):
      %0 = arith.addf %a, %b : f64
      linalg.yield %0 : f64
    }
  }
  return %ok : i32
}

// -----

// Rows: every other one, of which a part is read twice; what a block keeps for
// itself is not memory, and what it has written it need not read.

#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<8x64xf32>
  %y = runtime.output %outputs[0] () : memref<8x64xf32>
  // CHECK: work = [#device.work<kind = rows, read = 1024, written = 1024, operations = 512>]
  device.group row_wise {
    scf.forall (%i) = (0) to (8) step (2) {
      %own = memref.alloc() : memref<64xf32>
      %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : memref<8x64xf32> to memref<64xf32, strided<[1], offset: ?>>
      %to = memref.subview %y[%i, 0] [1, 64] [1, 1] : memref<8x64xf32> to memref<64xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%from : memref<64xf32, strided<[1], offset: ?>>) outs(%own : memref<64xf32>) {
      ^bb0(%a: f32, %old: f32):
        %0 = math.exp %a : f32
        linalg.yield %0 : f32
      }
      linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%own, %from : memref<64xf32>, memref<64xf32, strided<[1], offset: ?>>) outs(%to : memref<64xf32, strided<[1], offset: ?>>) {
      ^bb0(%a: f32, %b: f32, %old: f32):
        linalg.yield %a : f32
      }
      linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%to : memref<64xf32, strided<[1], offset: ?>>) {
      ^bb0(%old: f32):
        %0 = arith.negf %old : f32
        linalg.yield %0 : f32
      }
      memref.dealloc %own : memref<64xf32>
    }
  }
  return %ok : i32
}

// -----

// Parts by their kinds: one writes over a state, and what both read counts for
// the first.

#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %g = runtime.input %inputs[0] : memref<512xf32>
  %w = runtime.input %inputs[1] : memref<512xf32>
  %y = runtime.output %outputs[0] () : memref<512xf32>
  // CHECK: work = [#device.work<kind = map, read = 2048, written = 2048, operations = 512>, #device.work<kind = update, read = 2048, written = 2048, operations = 512>]
  device.group fused {
    device.group elementwise {
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%g : memref<512xf32>) outs(%w : memref<512xf32>) {
      ^bb0(%a: f32, %old: f32):
        %0 = arith.subf %old, %a : f32
        linalg.yield %0 : f32
      }
    }
    device.group elementwise {
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%g : memref<512xf32>) outs(%y : memref<512xf32>) {
      ^bb0(%a: f32, %old: f32):
        %0 = arith.negf %a : f32
        linalg.yield %0 : f32
      }
    }
  }
  return %ok : i32
}

// -----

// Data decide which rows are read: no more than are asked for.

#none = affine_map<(i, j) -> (i)>
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %table = runtime.input %inputs[0] : memref<1000x16xf32>
  %ids = runtime.input %inputs[1] : memref<4xi64>
  %y = runtime.output %outputs[0] () : memref<4x16xf32>
  // CHECK: work = [#device.work<kind = map, read = 288, written = 256>]
  device.group elementwise {
    linalg.generic {indexing_maps = [#none, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : memref<4xi64>) outs(%y : memref<4x16xf32>) {
    ^bb0(%id: i64, %old: f32):
      %row = arith.index_cast %id : i64 to index
      %column = linalg.index 1 : index
      %0 = memref.load %table[%row, %column] : memref<1000x16xf32>
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}
