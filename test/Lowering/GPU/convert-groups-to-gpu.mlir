// RUN: mp-opt %s --split-input-file --kernel-select-gpu-strategy --convert-groups-to-gpu | FileCheck %s

// A thread for 16 bytes of a map; equal groups are one kernel.

#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<64x64xf32>
  %y = runtime.output %outputs[0] () : memref<64x64xf32>
  %z = runtime.output %outputs[1] () : memref<64x64xf32>
  // CHECK: device.launch @kernels::@map_0 grid [4, 1, 1] block [256, 1, 1](%[[X:[^,]*]], %[[Y:[^)]*]]) {work = [#device.work<kind = map, read = 16384, written = 16384, operations = 4096>]} : memref<64x64xf32>, memref<64x64xf32>
  device.group elementwise {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x64xf32>) outs(%y : memref<64x64xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %a : f32
      linalg.yield %0 : f32
    }
  }
  // CHECK: device.launch @kernels::@map_0 grid [4, 1, 1] block [256, 1, 1](%[[X]], %{{.*}})
  device.group elementwise {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x64xf32>) outs(%z : memref<64x64xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %a : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}
// CHECK: gpu.module @kernels
// CHECK: gpu.func @map_0(%{{.*}}: memref<64x64xf32>, %{{.*}}: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 256, 1, 1>}
// CHECK:   %[[V:.*]] = vector.load %{{.*}} {alignment = 16 : i64}
// CHECK:   %[[SUM:.*]] = arith.addf %[[V]], %[[V]] : vector<4xf32>
// CHECK:   vector.store %[[SUM]], %{{.*}} {alignment = 16 : i64}
// CHECK-NOT: gpu.func

// -----

// Rows that do not begin at multiples of 16 bytes: narrower accesses.

#id = affine_map<(i, j) -> (i, j)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<64x66xbf16>
  %y = runtime.output %outputs[0] () : memref<64x66xbf16>
  %v = memref.subview %x[0, 2] [64, 64] [1, 1] : memref<64x66xbf16> to memref<64x64xbf16, strided<[66, 1], offset: 2>>
  %w = memref.subview %y[0, 0] [64, 64] [1, 1] : memref<64x66xbf16> to memref<64x64xbf16, strided<[66, 1]>>
  // CHECK: device.launch @kernels::@map_0 grid [8, 1, 1] block [256, 1, 1]
  device.group elementwise {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%v : memref<64x64xbf16, strided<[66, 1], offset: 2>>) outs(%w : memref<64x64xbf16, strided<[66, 1]>>) {
    ^bb0(%a: bf16, %b: bf16):
      linalg.yield %a : bf16
    }
  }
  return %ok : i32
}
// CHECK: vector.load {{.*}} {alignment = 4 : i64}
// CHECK: vector.store {{.*}} {alignment = 4 : i64}

// -----

// Rows of a sum: a block each, whose threads combine what they have.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<20x8192xf32>
  %y = runtime.output %outputs[0] () : memref<20xf32>
  // CHECK: device.launch @kernels::@reduce_0 grid [20, 1, 1] block [256, 1, 1]
  device.group reduce {
    linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<20x8192xf32>) outs(%y : memref<20xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @reduce_0({{.*}}) workgroup(%[[SHARED:.*]] : memref<8xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
// CHECK: scf.for
// CHECK-COUNT-4: vector.load {{.*}} {alignment = 16 : i64} : memref<20x8192xf32>, vector<4xf32>
// CHECK-COUNT-4: vector.extract
// CHECK: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK: gpu.shuffle xor

// -----

// Columns: a thread each.

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<16x1000xf32>
  %y = runtime.output %outputs[0] () : memref<1000xf32>
  // CHECK: device.launch @kernels::@reduce_0 grid [8, 1, 1] block [128, 1, 1]
  device.group reduce {
    linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<16x1000xf32>) outs(%y : memref<1000xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @reduce_0
// CHECK-NOT: gpu.barrier

// -----

// Long columns: eight lanes have 32 of them, by vectors, and the 32 groups of
// eight lanes of a block have a share of the points each. Sums begin with the
// value of the fill before them.

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
#k = affine_map<(i) -> (i)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %start = arith.constant 5.0 : f32
  %x = runtime.input %inputs[0] : memref<64x1000xf32>
  %y = runtime.output %outputs[0] () : memref<1000xf32>
  // CHECK: device.launch @kernels::@reduce_0 grid [32, 1, 1] block [256, 1, 1]
  device.group reduce {
    linalg.generic {indexing_maps = [#k], iterator_types = ["parallel"]} outs(%y : memref<1000xf32>) {
    ^bb0(%b: f32):
      linalg.yield %start : f32
    }
    linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<64x1000xf32>) outs(%y : memref<1000xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @reduce_0({{.*}}) workgroup(%{{.*}} : memref<8x32xf32, #gpu.address_space<workgroup>>
// CHECK-DAG: %[[START:.*]] = arith.constant 5.0
// CHECK-DAG: %[[SHARED:.*]] = memref.memory_space_cast
// CHECK: arith.remui %{{.*}}, %c8{{.*}} : index
// CHECK: arith.divui %{{.*}}, %c8{{.*}} : index
// CHECK-COUNT-2: vector.load {{.*}} {alignment = 16 : i64} : memref<64x1000xf32>, vector<4xf32>
// CHECK-COUNT-8: gpu.shuffle xor
// CHECK-COUNT-4: memref.store {{.*}} : memref<8x32xf32>
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: %[[FIRST:.*]] = memref.load %[[SHARED]]
// CHECK: arith.addf %[[START]], %[[FIRST]]
// CHECK-COUNT-7: memref.load %[[SHARED]]
// CHECK: memref.store
// CHECK-NOT: memref.store

// -----

// Each block runs one part: parts have the same shared memory.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<20x1024xf32>
  %y = runtime.output %outputs[0] () : memref<20xf32>
  %z = runtime.output %outputs[1] () : memref<20xf32>
  device.group fused {
    device.group reduce {
      linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<20x1024xf32>) outs(%y : memref<20xf32>) {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.addf %a, %b : f32
        linalg.yield %0 : f32
      }
    }
    device.group reduce {
      linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<20x1024xf32>) outs(%z : memref<20xf32>) {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.maximumf %a, %b : f32
        linalg.yield %0 : f32
      }
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @parts_0({{.*}}) workgroup(%{{[^,]*}} : memref<8xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}) kernel

// -----

// A block for each row: temporaries in shared memory, barriers between what
// writes and what reads; and code that fails.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
// CHECK-LABEL: module attributes {device.errors = ["row %0 of %1 is bad"]}
module {
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %x = runtime.input %inputs[0] : memref<8x256xf32>
  %control = device.control : memref<8xi64>
  // CHECK: device.launch @kernels::@rows_0 grid [8, 1, 1] block [64, 1, 1](%{{.*}}, %{{.*}}) {{{.*}}} : memref<8x256xf32>, memref<8xi64>
  device.group row_wise {
    scf.forall (%i) in (8) {
      %bad = arith.cmpi uge, %i, %c8 : index
      scf.if %bad {
        runtime.fail "row %0 of %1 is bad"(%i, %c8) parallel
      }
      %row = memref.subview %x[%i, 0] [1, 256] [1, 1] : memref<8x256xf32> to memref<256xf32, strided<[1], offset: ?>>
      %sum = memref.alloc() : memref<f32>
      memref.store %zero, %sum[] : memref<f32>
      linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%row : memref<256xf32, strided<[1], offset: ?>>) outs(%sum : memref<f32>) {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.addf %a, %b : f32
        linalg.yield %0 : f32
      }
      linalg.generic {indexing_maps = [#none, #id], iterator_types = ["parallel"]} ins(%sum : memref<f32>) outs(%row : memref<256xf32, strided<[1], offset: ?>>) {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.divf %b, %a : f32
        linalg.yield %0 : f32
      }
      memref.dealloc %sum : memref<f32>
    }
  }
  return %ok : i32
}
}
// CHECK: gpu.func @rows_0({{.*}}) workgroup(%{{.*}} : memref<f32, #gpu.address_space<workgroup>>
// CHECK:   gpu.block_id x
// CHECK:   device.fail %{{.*}}, 0({{.*}}) : memref<8xi64>
// CHECK:   scf.if
// CHECK-NEXT: memref.store
// CHECK:   gpu.barrier
// CHECK:   scf.for
// CHECK:   gpu.barrier
// CHECK:   arith.divf
// CHECK-NOT: memref.alloc

// -----

// A convolution with padding: reads out of bounds give zero.

func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<16xbf16>
  %w = runtime.input %inputs[1] : memref<3xf32>
  %y = runtime.output %outputs[0] () : memref<16xf32>
  // CHECK: device.launch @kernels::@contract_0 grid [1, 1, 1] block [32, 1, 1]
  device.group contract {
    kernel.contract {indexing_maps = [affine_map<(i, k) -> (i + k - 1)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], round_b = bf16}
        ins(%x, %w : memref<16xbf16>, memref<3xf32>) outs(%y : memref<16xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @contract_0
// CHECK:   scf.for
// CHECK:     %[[FITS:.*]] = arith.cmpi ult
// CHECK:     arith.select %[[FITS]]
// CHECK:     memref.load
// CHECK:     arith.select %[[FITS]]
// CHECK:     arith.truncf {{.*}} : f32 to bf16

// -----

// A check may end the call: a kernel with an index that the model computes asks
// whether one has.

func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %x = runtime.input %inputs[0] : memref<4xf32>
  %p = runtime.input %inputs[1] : memref<1xi64>
  // CHECK: device.launch @kernels::@block_0
  device.group single_block {
    %v = memref.load %p[%c0] : memref<1xi64>
    %i = arith.index_cast %v : i64 to index
    %bad = arith.cmpi uge, %i, %c4 : index
    scf.if %bad {
      runtime.fail "index %0 of %1"(%i, %c4)
    }
  }
  // CHECK: device.launch @kernels::@block_1
  device.group single_block {
    %v = memref.load %p[%c0] : memref<1xi64>
    %i = arith.index_cast %v : i64 to index
    %one = arith.constant 1.0 : f32
    memref.store %one, %x[%i] : memref<4xf32>
  }
  return %ok : i32
}
// CHECK: gpu.func @block_1
// CHECK: %[[ENDED:.*]] = memref.load %{{.*}}[%c5] : memref<8xi64>
// CHECK: %[[HAS:.*]] = arith.cmpi ne, %[[ENDED]]
// CHECK: gpu.barrier
// CHECK: scf.if %[[HAS]] {
// CHECK-NEXT: arith.constant
// CHECK-NEXT: device.fail %{{.*}} ends

// -----

// Rows that indices name: two blocks for 512 columns, and 128 of such pairs, of
// which each owns 16 rows. Indices go through shared memory.

#id = affine_map<(i) -> (i)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c300 = arith.constant 300 : index
  %x = runtime.input %inputs[0] : memref<2048x512xf32>
  %i = runtime.input %inputs[1] : memref<300xi64>
  %u = runtime.input %inputs[2] : memref<300x512xf32>
  // CHECK: device.launch @kernels::@indexed_0 grid [256, 1, 1] block [256, 1, 1]
  device.group scatter {
    scf.for %n = %c0 to %c300 step %c1 {
      %place = memref.load %i[%n] : memref<300xi64>
      %row = arith.index_cast %place : i64 to index
      %to = memref.subview %x[%row, 0] [1, 512] [1, 1] : memref<2048x512xf32> to memref<512xf32, strided<[1], offset: ?>>
      %from = memref.subview %u[%n, 0] [1, 512] [1, 1] : memref<300x512xf32> to memref<512xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%from : memref<512xf32, strided<[1], offset: ?>>) outs(%to : memref<512xf32, strided<[1], offset: ?>>) {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.addf %b, %a : f32
        linalg.yield %0 : f32
      }
    }
  }
  return %ok : i32
}
// Each thread looks at four indices and queues those of the block's 16 rows,
// behind those of threads in front of it; then all threads go through the queue.
// CHECK: gpu.func @indexed_0({{.*}}) workgroup(%{{.*}} : memref<4x256xi32, #gpu.address_space<workgroup>>
// CHECK: scf.for {{.*}} step %c1024
// CHECK:   %[[BITS:.*]] = scf.for
// CHECK:     scf.if
// CHECK:       %[[INDEX:.*]] = memref.load %{{.*}} : memref<300xi64>
// CHECK:       memref.store %{{.*}} : memref<4x256xi32>
// CHECK:       arith.cmpi ult, %{{.*}}, %c16
// CHECK:   math.ctpop %[[BITS]]
// CHECK-COUNT-5: gpu.shuffle up
// CHECK:   gpu.barrier
// CHECK:   scf.for
// CHECK:     scf.if
// CHECK:       memref.store %{{.*}} : memref<2x1024xi32>
// CHECK:   gpu.barrier
// CHECK:   scf.for
// CHECK:     %[[KEY:.*]] = memref.load %{{.*}} : memref<2x1024xi32>
// CHECK:     %[[PLACE:.*]] = arith.index_cast %[[KEY]]
// CHECK:     %[[FAR:.*]] = arith.subi %[[PLACE]], %
// CHECK:     %[[OWN:.*]] = arith.cmpi ult, %[[FAR]], %c16
// CHECK:     scf.if %[[OWN]]
// CHECK: gpu.return

// -----

// Two products that differ in memory alone: each block looks up which of them
// its tile belongs to.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<128x64xbf16>
  %v = runtime.input %inputs[1] : memref<64x64xbf16>
  %w = runtime.input %inputs[2] : memref<64x64xbf16>
  %p = runtime.output %outputs[0] () : memref<128x64xf32>
  %q = runtime.output %outputs[1] () : memref<128x64xf32>
  // CHECK: device.launch @kernels::@contract_0 grid [4, 1, 1] block [128, 1, 1]
  // CHECK-SAME: kind = product, {{.*}}tensor = 1048576
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c], tile = #kernel.tile<by = mma, m = 64, n = 64, k = 32, part_m = 32, part_n = 32, stages = 4>}
        ins(%x, %v : memref<128x64xbf16>, memref<64x64xbf16>) outs(%p : memref<128x64xf32>) {
    ^bb0(%s: f32):
      kernel.yield %s : f32
    }
    kernel.contract {indexing_maps = [#a, #b, #c], tile = #kernel.tile<by = mma, m = 64, n = 64, k = 32, part_m = 32, part_n = 32, stages = 4>}
        ins(%x, %w : memref<128x64xbf16>, memref<64x64xbf16>) outs(%q : memref<128x64xf32>) {
    ^bb0(%s: f32):
      kernel.yield %s : f32
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @contract_0(%[[X:.*]]: memref<128x64xbf16>, %[[V:.*]]: memref<64x64xbf16>, %[[P:.*]]: memref<128x64xf32>, %[[W:.*]]: memref<64x64xbf16>, %[[Q:.*]]: memref<128x64xf32>)
// CHECK:   %[[BLOCK:.*]] = gpu.block_id x
// CHECK:   %[[TWO:.*]] = arith.constant 2 : index
// CHECK:   %[[SECOND:.*]] = arith.cmpi uge, %[[BLOCK]], %[[TWO]]
// CHECK:   %[[BEGIN:.*]] = arith.select %[[SECOND]], %[[TWO]], %{{.*}} : index
// CHECK:   arith.select %[[SECOND]], %[[W]], %[[V]] : memref<64x64xbf16>
// CHECK:   arith.select %[[SECOND]], %[[Q]], %[[P]] : memref<128x64xf32>
// CHECK:   arith.subi %[[BLOCK]], %[[BEGIN]] : index

// -----

// ArgMax: threads of a block for each row, which keep the greatest of their
// share and its number, then pairs of them; of equal ones the first.

#row = affine_map<(i, j) -> (i, j)>
#one = affine_map<(i, j) -> (i)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<4x5000xf32>
  %v = runtime.output %outputs[0] () : memref<4xf32>
  %i = runtime.output %outputs[1] () : memref<4xi64>
  // CHECK: device.launch @kernels::@reduce_0 grid [4, 1, 1] block [256, 1, 1]
  device.group reduce {
    linalg.generic {indexing_maps = [#row, #one, #one], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x5000xf32>) outs(%v, %i : memref<4xf32>, memref<4xi64>) {
    ^bb0(%a: f32, %best: f32, %number: i64):
      %0 = linalg.index 1 : index
      %1 = arith.index_cast %0 : index to i64
      %2:2 = kernel.arg_select gt %a, %1 over %best, %number : f32, i64
      linalg.yield %2#0, %2#1 : f32, i64
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @reduce_0
// CHECK:   %[[SHARE:.*]]:2 = scf.for %{{.*}} iter_args(%[[BEST:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (f32, i64)
// CHECK:     arith.cmpf ogt, %{{.*}}, %[[BEST]] : f32
// CHECK:   gpu.barrier
// CHECK:   arith.cmpf ogt
// CHECK:   arith.cmpf ogt
// CHECK:   arith.cmpi sgt
// CHECK:   arith.cmpi slt

// -----

// A group behind a condition: all blocks look at it.

#id = affine_map<(i, j) -> (i, j)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %f = runtime.input %inputs[0] : memref<i1>
  %x = runtime.input %inputs[1] : memref<64x64xf32>
  // CHECK: device.launch @kernels::@map_0 grid [4, 1, 1] block [256, 1, 1]
  device.group elementwise {
    %flag = memref.load %f[] : memref<i1>
    scf.if %flag {
      linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%x : memref<64x64xf32>) {
      ^bb0(%a: f32):
        %0 = arith.addf %a, %a : f32
        linalg.yield %0 : f32
      }
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @map_0
// CHECK-NEXT: %[[FLAG:.*]] = memref.load
// CHECK-NEXT: scf.if %[[FLAG]] {
// CHECK:        vector.store

// -----

// Places in the rows of a matrix, for each row by indices of its own: blocks of
// their own for each of the 40 rows, 6 for the places in it.

func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  %c300 = arith.constant 300 : index
  %x = runtime.input %inputs[0] : memref<40x9000xf32>
  %i = runtime.input %inputs[1] : memref<40x300xi64>
  %u = runtime.input %inputs[2] : memref<40x300xf32>
  // CHECK: device.launch @kernels::@indexed_0 grid [240, 1, 1] block [256, 1, 1]
  device.group scatter {
    scf.for %row = %c0 to %c40 step %c1 {
      scf.for %n = %c0 to %c300 step %c1 {
        %place = memref.load %i[%row, %n] : memref<40x300xi64>
        %column = arith.index_cast %place : i64 to index
        %from = memref.load %u[%row, %n] : memref<40x300xf32>
        %old = memref.load %x[%row, %column] : memref<40x9000xf32>
        %new = arith.addf %old, %from : f32
        memref.store %new, %x[%row, %column] : memref<40x9000xf32>
      }
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @indexed_0({{.*}}) workgroup(%{{.*}} : memref<4x256xi32, #gpu.address_space<workgroup>>
// CHECK: %[[ROW:.*]] = arith.divui %{{.*}}, %c6
// CHECK: scf.for {{.*}} step %c1024
// CHECK:   memref.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<40x300xi64>
// CHECK:   gpu.barrier

// -----

// Long lines that are no whole number of vectors begin at multiples of 16
// bytes, as padded rows do: the last points are computed one by one. The index
// of a point is known, and what is the same for a line is computed once.

#id = affine_map<(i, j) -> (i, j)>
#line = affine_map<(i, j) -> (i)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<64x1008xf32>
  %labels = runtime.input %inputs[1] : memref<64xi32>
  %y = runtime.output %outputs[0] () : memref<64x1008xf32>
  %v = memref.subview %x[0, 0] [64, 1003] [1, 1] : memref<64x1008xf32> to memref<64x1003xf32, strided<[1008, 1]>>
  %w = memref.subview %y[0, 0] [64, 1003] [1, 1] : memref<64x1008xf32> to memref<64x1003xf32, strided<[1008, 1]>>
  // CHECK: device.launch @kernels::@map_0 grid [63, 1, 1] block [256, 1, 1]
  device.group elementwise {
    linalg.generic {indexing_maps = [#id, #line, #id], iterator_types = ["parallel", "parallel"]} ins(%v, %labels : memref<64x1003xf32, strided<[1008, 1]>>, memref<64xi32>) outs(%w : memref<64x1003xf32, strided<[1008, 1]>>) {
    ^bb0(%a: f32, %label: i32, %b: f32):
      %wide = arith.index_cast %label : i32 to index
      %j = linalg.index 1 : index
      %is = arith.cmpi eq, %j, %wide : index
      %one = arith.uitofp %is : i1 to f32
      %0 = arith.subf %a, %one : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @map_0
// CHECK: %[[WHOLE:.*]] = arith.cmpi ule, %{{.*}}, %c999
// CHECK: %[[LIKELY:.*]] = llvm.intr.expect %[[WHOLE]], %{{.*}} : i1
// CHECK: scf.if %[[LIKELY]] {
// CHECK:   vector.load {{.*}} vector<4xf32>
// CHECK:   arith.index_cast %{{.*}} : i32 to index
// CHECK:   arith.cmpi eq, {{.*}} : vector<4xindex>
// CHECK:   vector.store {{.*}} vector<4xf32>
// CHECK: } else {
// CHECK:   scf.for
// CHECK:     memref.store

// -----

// Two sums of channels: threads read neighbours of the image, although sums of
// neighbouring channels are neighbours, too.

#image = affine_map<(n, c, i) -> (n, c, i)>
#channel = affine_map<(n, c, i) -> (c)>
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<8x4x3136xbf16>
  %y = runtime.output %outputs[0] () : memref<4xf32>
  %z = runtime.output %outputs[1] () : memref<4xf32>
  // CHECK: device.launch @kernels::@reduce_0 grid [4, 1, 1] block [256, 1, 1]
  device.group reduce {
    linalg.generic {indexing_maps = [#image, #channel, #channel], iterator_types = ["reduction", "parallel", "reduction"]} ins(%x : memref<8x4x3136xbf16>) outs(%y, %z : memref<4xf32>, memref<4xf32>) {
    ^bb0(%a: bf16, %s: f32, %q: f32):
      %wide = arith.extf %a : bf16 to f32
      %square = arith.mulf %wide, %wide : f32
      %0 = arith.addf %s, %wide : f32
      %1 = arith.addf %q, %square : f32
      linalg.yield %0, %1 : f32, f32
    }
  }
  return %ok : i32
}
// CHECK: gpu.func @reduce_0
// CHECK-NOT: memref.load %{{.*}} : memref<8x4x3136xbf16>
// CHECK: vector.load {{.*}} vector<8xbf16>
