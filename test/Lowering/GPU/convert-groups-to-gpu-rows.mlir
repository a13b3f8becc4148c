// RUN: mp-opt %s --split-input-file --kernel-select-gpu-strategy --convert-groups-to-gpu | FileCheck %s

// A softmax of 16-bit rows: 16 lanes have a row, eight elements each. Nothing
// goes through memory between the ops.

#r = affine_map<(i) -> (i)>
#s = affine_map<(i) -> ()>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %x = runtime.input %inputs[0] : memref<99x128xbf16>
  %y = runtime.output %outputs[0] () : memref<99x128xbf16>
  // CHECK: device.launch @kernels::@rows_0 grid [50, 1, 1] block [32, 1, 1]
  device.group row_wise {
    scf.forall (%i) in (99) {
      %row = memref.subview %x[%i, 0] [1, 128] [1, 1] : memref<99x128xbf16> to memref<128xbf16, strided<[1], offset: ?>>
      %out = memref.subview %y[%i, 0] [1, 128] [1, 1] : memref<99x128xbf16> to memref<128xbf16, strided<[1], offset: ?>>
      %most = memref.alloc() : memref<f32>
      linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%most : memref<f32>) {
      ^bb0(%b: f32):
        linalg.yield %low : f32
      }
      linalg.generic {indexing_maps = [#r, #s], iterator_types = ["reduction"]} ins(%row : memref<128xbf16, strided<[1], offset: ?>>) outs(%most : memref<f32>) {
      ^bb0(%a: bf16, %b: f32):
        %0 = arith.extf %a : bf16 to f32
        %1 = arith.maximumf %b, %0 : f32
        linalg.yield %1 : f32
      }
      %power = memref.alloc() : memref<128xf32>
      linalg.generic {indexing_maps = [#r, #s, #r], iterator_types = ["parallel"]} ins(%row, %most : memref<128xbf16, strided<[1], offset: ?>>, memref<f32>) outs(%power : memref<128xf32>) {
      ^bb0(%a: bf16, %b: f32, %c: f32):
        %0 = arith.extf %a : bf16 to f32
        %1 = arith.subf %0, %b : f32
        %2 = math.exp %1 : f32
        linalg.yield %2 : f32
      }
      %sum = memref.alloc() : memref<f32>
      linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%sum : memref<f32>) {
      ^bb0(%b: f32):
        linalg.yield %zero : f32
      }
      linalg.generic {indexing_maps = [#r, #s], iterator_types = ["reduction"]} ins(%power : memref<128xf32>) outs(%sum : memref<f32>) {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.addf %b, %a : f32
        linalg.yield %0 : f32
      }
      linalg.generic {indexing_maps = [#r, #s, #r], iterator_types = ["parallel"]} ins(%power, %sum : memref<128xf32>, memref<f32>) outs(%out : memref<128xbf16, strided<[1], offset: ?>>) {
      ^bb0(%a: f32, %b: f32, %c: bf16):
        %0 = arith.divf %a, %b : f32
        %1 = arith.truncf %0 : f32 to bf16
        linalg.yield %1 : bf16
      }
      memref.dealloc %most : memref<f32>
      memref.dealloc %power : memref<128xf32>
      memref.dealloc %sum : memref<f32>
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @rows_0
// CHECK-NOT: workgroup
// CHECK-NOT: memref.alloc
// CHECK-NOT: gpu.barrier
// CHECK: arith.divui %{{.*}}, %c16
// CHECK: %[[FITS:.*]] = arith.cmpi ult, %{{.*}}, %c99
// CHECK: arith.minui %{{.*}}, %c98
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xbf16>
// CHECK: arith.maximumf {{.*}} : vector<8xf32>
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK-NOT: vector.load
// CHECK: math.exp {{.*}} : vector<8xf32>
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK-NOT: memref.load
// CHECK: arith.divf {{.*}} : vector<8xf32>
// CHECK: scf.if %[[FITS]]
// CHECK: vector.store {{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xbf16>
// CHECK: gpu.return

// -----

// A row that many warps have: one barrier for each pass, and all stores at the
// end. The row is overwritten in place. Its last element fills no vector.

#r = affine_map<(i) -> (i)>
#s = affine_map<(i) -> ()>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  %x = runtime.input %inputs[0] : memref<7x8200xf32>
  // CHECK: device.launch @kernels::@rows_0 grid [7, 1, 1] block [128, 1, 1]
  device.group row_wise {
    scf.forall (%i) in (7) {
      %row = memref.subview %x[%i, 0] [1, 8197] [1, 1] : memref<7x8200xf32> to memref<8197xf32, strided<[1], offset: ?>>
      %sum = memref.alloc() : memref<f32>
      linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%sum : memref<f32>) {
      ^bb0(%b: f32):
        linalg.yield %zero : f32
      }
      linalg.generic {indexing_maps = [#r, #s], iterator_types = ["reduction"]} ins(%row : memref<8197xf32, strided<[1], offset: ?>>) outs(%sum : memref<f32>) {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.addf %b, %a : f32
        linalg.yield %0 : f32
      }
      linalg.generic {indexing_maps = [#s, #r], iterator_types = ["parallel"]} ins(%sum : memref<f32>) outs(%row : memref<8197xf32, strided<[1], offset: ?>>) {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.divf %b, %a : f32
        linalg.yield %0 : f32
      }
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @rows_0({{.*}}) workgroup(%{{.*}} : memref<4xf32, #gpu.address_space<workgroup>>
// CHECK-COUNT-17: vector.load {{.*}} {alignment = 16 : i64} : {{.*}}, vector<4xf32>
// CHECK: memref.load
// CHECK: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK-NOT: vector.load
// CHECK-COUNT-17: vector.store {{.*}} {alignment = 16 : i64} : {{.*}}, vector<4xf32>
// CHECK: memref.store
// CHECK: gpu.return

// -----

// Rows of an odd length in 16 bit are aligned to one element: neighbouring lanes
// have neighbouring elements.

#r = affine_map<(i) -> (i)>
#s = affine_map<(i) -> ()>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<4x127xf16>
  %y = runtime.output %outputs[0] () : memref<4xf16>
  // CHECK: device.launch @kernels::@rows_0 grid [4, 1, 1] block [32, 1, 1]
  device.group row_wise {
    scf.forall (%i) in (4) {
      %row = memref.subview %x[%i, 0] [1, 127] [1, 1] : memref<4x127xf16> to memref<127xf16, strided<[1], offset: ?>>
      %out = memref.subview %y[%i] [1] [1] : memref<4xf16> to memref<f16, strided<[], offset: ?>>
      linalg.generic {indexing_maps = [#r, #s], iterator_types = ["reduction"]} ins(%row : memref<127xf16, strided<[1], offset: ?>>) outs(%out : memref<f16, strided<[], offset: ?>>) {
      ^bb0(%a: f16, %b: f16):
        %0 = arith.maximumf %b, %a : f16
        linalg.yield %0 : f16
      }
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @rows_0
// CHECK: memref.load {{.*}} : memref<f16, strided<[], offset: ?>>
// CHECK-COUNT-4: memref.load {{.*}} : memref<127xf16, strided<[1], offset: ?>>
// CHECK: arith.bitcast {{.*}} : f16 to i16
// CHECK: gpu.shuffle xor
// CHECK: memref.store
// CHECK: gpu.return

// -----

// A block has the row if ops access it in different ways: here each element is
// computed from the one at the other end.

#r = affine_map<(i) -> (i)>
#back = affine_map<(i) -> (255 - i)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<8x256xf32>
  %y = runtime.output %outputs[0] () : memref<8x256xf32>
  // CHECK: device.launch @kernels::@rows_0 grid [8, 1, 1] block [64, 1, 1]
  device.group row_wise {
    scf.forall (%i) in (8) {
      %row = memref.subview %x[%i, 0] [1, 256] [1, 1] : memref<8x256xf32> to memref<256xf32, strided<[1], offset: ?>>
      %out = memref.subview %y[%i, 0] [1, 256] [1, 1] : memref<8x256xf32> to memref<256xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [#back, #r], iterator_types = ["parallel"]} ins(%row : memref<256xf32, strided<[1], offset: ?>>) outs(%out : memref<256xf32, strided<[1], offset: ?>>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    }
  }
  return %ok : i32
}

// -----

// So does a row whose memory two ops see in two ways: lanes would read what
// others have overwritten.

#r = affine_map<(i) -> (i)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<8x256xf32>
  // CHECK: device.launch @kernels::@rows_0 grid [8, 1, 1] block [32, 1, 1]
  // CHECK: gpu.barrier
  device.group row_wise {
    scf.forall (%i) in (8) {
      %row = memref.subview %x[%i, 0] [1, 128] [1, 1] : memref<8x256xf32> to memref<128xf32, strided<[1], offset: ?>>
      %next = memref.subview %x[%i, 1] [1, 128] [1, 1] : memref<8x256xf32> to memref<128xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [#r, #r], iterator_types = ["parallel"]} ins(%next : memref<128xf32, strided<[1], offset: ?>>) outs(%row : memref<128xf32, strided<[1], offset: ?>>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    }
  }
  return %ok : i32
}

// -----

// A block adds up the columns of its rows: 8 warps have two rows each, and add
// their sums to shared memory one after the other. The last one stores them.

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
#r = affine_map<(i) -> (i)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %x = runtime.input %inputs[0] : memref<1024x128xf32>
  %sum = runtime.output %outputs[0] () : memref<64x128xf32>
  // CHECK: device.launch @kernels::@rows_0 grid [64, 1, 1] block [256, 1, 1]
  device.group row_wise {
    scf.forall (%block) in (64) {
      %part = memref.subview %sum[%block, 0] [1, 128] [1, 1] : memref<64x128xf32> to memref<128xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [#r], iterator_types = ["parallel"]} outs(%part : memref<128xf32, strided<[1], offset: ?>>) {
      ^bb0(%b: f32):
        linalg.yield %zero : f32
      }
      %first = arith.muli %block, %c16 : index
      scf.for %k = %c0 to %c16 step %c1 {
        %i = arith.addi %first, %k : index
        %row = memref.subview %x[%i, 0] [1, 128] [1, 1] : memref<1024x128xf32> to memref<1x128xf32, strided<[128, 1], offset: ?>>
        linalg.generic {indexing_maps = [#id, #column], iterator_types = ["parallel", "parallel"]} ins(%row : memref<1x128xf32, strided<[128, 1], offset: ?>>) outs(%part : memref<128xf32, strided<[1], offset: ?>>) {
        ^bb0(%a: f32, %b: f32):
          %0 = arith.addf %b, %a : f32
          linalg.yield %0 : f32
        }
      }
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @rows_0({{.*}}) workgroup(%{{.*}} : memref<128xf32, #gpu.address_space<workgroup>>
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} to %c2{{.*}} iter_args(%[[OWN:.*]] = %{{.*}}) -> (vector<4xf32>)
// CHECK:   %[[ROW:.*]] = vector.load
// CHECK:   arith.addf %[[OWN]], %[[ROW]] : vector<4xf32>
// CHECK: scf.if
// CHECK:   vector.store %[[SUM]], %[[SHARED:.*]][
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK:   scf.if
// CHECK:     vector.load %[[SHARED]]
// CHECK:     arith.addf {{.*}} : vector<4xf32>
// CHECK:     vector.store {{.*}} %[[SHARED]]
// CHECK:   gpu.barrier
// CHECK: scf.if
// CHECK:   vector.load %[[SHARED]]
// CHECK:   vector.store {{.*}} {alignment = 16 : i64} : memref<128xf32, strided<[1], offset: ?>>
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
