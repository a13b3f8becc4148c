// RUN: mp-opt %s --split-input-file --mp-form-kernels | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-form-kernels --remarks-filter-analyse=mp-codegen 2>&1 | FileCheck %s --check-prefix=REMARK

// A number that is loaded, and changed memory: loads of what nobody writes any
// more stand between groups; others and what depends on them are in a group.

#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %one = arith.constant 1.0 : f32
  %ok = arith.constant 0 : i32
  runtime.check_inputs %inputs ["x", "s"] [memref<4096xf32>, memref<f32>]
  %x = runtime.input %inputs[0] : memref<4096xf32>
  %s = runtime.input %inputs[1] : memref<f32>
  %y = runtime.output %outputs[0] () : memref<4096xf32>
  %arena = memref.alloc() : memref<512xi8>
  %t = memref.view %arena[%c0][] : memref<512xi8> to memref<f32>
  // CHECK-NOT: runtime.check_inputs
  // CHECK: %[[SEED:.*]] = device.draw %{{.*}}, 7 after 0
  %draw = runtime.draw 7
  // CHECK: device.draw %{{.*}}, 7 after 1
  %draw2 = runtime.draw 7
  // What is stable is loaded by whoever needs it.
  // CHECK: %[[S:.*]] = memref.load %{{.*}}[] : memref<f32>
  // CHECK: device.group elementwise {
  // CHECK:   linalg.generic
  %s0 = memref.load %s[] : memref<f32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {
  ^bb0(%a: f32, %b: f32):
    // CHECK: arith.mulf %{{.*}}, %[[S]]
    %0 = arith.mulf %a, %s0 : f32
    %i = arith.xori %draw, %draw2 : i64
    %f = arith.sitofp %i : i64 to f32
    %1 = arith.addf %0, %f : f32
    linalg.yield %1 : f32
  }
  // CHECK: device.group single_block {
  // CHECK:   %[[OLD:.*]] = memref.load %[[T:.*]][]
  // CHECK:   %[[NEW:.*]] = arith.addf %[[OLD]]
  // CHECK:   memref.store %[[NEW]], %[[PLACE:.*]][] : memref<f32>
  // CHECK:   memref.store %{{.*}}, %[[T]][]
  // CHECK: }
  %old = memref.load %t[] : memref<f32>
  %new = arith.addf %old, %one : f32
  memref.store %one, %t[] : memref<f32>
  // CHECK: %[[LOADED:.*]] = memref.load %[[PLACE]][]
  // CHECK: device.group elementwise {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%y : memref<4096xf32>) {
  ^bb0(%b: f32):
    // CHECK: arith.mulf %{{.*}}, %[[LOADED]]
    %0 = arith.mulf %b, %new : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %arena : memref<512xi8>
  return %ok : i32
}

// -----

// Small ops that follow each other are one group.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<64xf32>
  %y = runtime.output %outputs[0] () : memref<f32>
  // CHECK: device.group single_block {
  // CHECK:   linalg.generic
  // CHECK:   linalg.generic
  // CHECK: }
  // CHECK-NOT: device.group
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<64xf32>) {
  ^bb0(%b: f32):
    %0 = arith.addf %b, %b : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%x : memref<64xf32>) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return %ok : i32
}

// -----

// Many short rows are many blocks, not one that takes them in turn.

#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<8192x16xf32>
  // CHECK: device.group row_wise {
  // CHECK-NEXT: scf.forall
  scf.forall (%i) in (8192) {
    %row = memref.subview %x[%i, 0] [1, 16] [1, 1] : memref<8192x16xf32> to memref<16xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%row : memref<16xf32, strided<[1], offset: ?>>) {
    ^bb0(%b: f32):
      %0 = arith.addf %b, %b : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// Rows that indices name are updated by the threads that own them; a loop whose
// iterations hand on what they compute runs in one block.

#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = runtime.input %inputs[0] : memref<100x32xf32>
  %i = runtime.input %inputs[1] : memref<64xi64>
  %u = runtime.input %inputs[2] : memref<64x32xf32>
  %s = runtime.input %inputs[3] : memref<65x32xf32>
  // CHECK: device.group scatter {
  // CHECK-NEXT: scf.for
  scf.for %n = %c0 to %c64 step %c1 {
    %place = memref.load %i[%n] : memref<64xi64>
    %row = arith.index_cast %place : i64 to index
    %to = memref.subview %x[%row, 0] [1, 32] [1, 1] : memref<100x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    %from = memref.subview %u[%n, 0] [1, 32] [1, 1] : memref<64x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%from : memref<32xf32, strided<[1], offset: ?>>) outs(%to : memref<32xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %b, %a : f32
      linalg.yield %0 : f32
    }
  }
  // CHECK: device.group single_block {
  // CHECK-NEXT: scf.for
  // REMARK-NOT: one-block
  // REMARK: :[[# @LINE + 2]]:3: remark: [Analysis] one-block | Category:mp-codegen | Loop=scf.for
  // REMARK-NOT: one-block
  scf.for %n = %c0 to %c64 step %c1 {
    %next = arith.addi %n, %c1 : index
    %from = memref.subview %s[%n, 0] [1, 32] [1, 1] : memref<65x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    %to = memref.subview %s[%next, 0] [1, 32] [1, 1] : memref<65x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%from : memref<32xf32, strided<[1], offset: ?>>) outs(%to : memref<32xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %b, %a : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// A branch with much to do: each op is in a group and a branch of its own. One
// with little to do, or with loads, is a kernel of one block.

#a = affine_map<(m, n, k) -> (m, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %f = runtime.input %inputs[0] : memref<i1>
  %x = runtime.input %inputs[1] : memref<64x128xf32>
  %w = runtime.input %inputs[2] : memref<64x128xf32>
  %y = runtime.output %outputs[0] () : memref<64x64xf32>
  %flag = memref.load %f[] : memref<i1>
  // CHECK: device.group contract {
  // CHECK-NEXT: scf.if %[[FLAG:.*]] {
  // CHECK-NEXT: kernel.contract {{.*}} outs(%[[SUMS:.*]] : memref<64x64xf32>)
  // CHECK: device.group elementwise {
  // CHECK-NEXT: scf.if %[[FLAG]] {
  // CHECK-NEXT: linalg.generic {{.*}} ins(%[[SUMS]] : memref<64x64xf32>)
  // CHECK: device.group elementwise {
  // CHECK-NEXT: scf.if %[[OTHER:.*]] {
  // CHECK-NEXT: linalg.generic
  scf.if %flag {
    %sums = memref.alloc() : memref<64x64xf32>
    kernel.contract {indexing_maps = [#a, affine_map<(m, n, k) -> (n, k)>, #c]} ins(%x, %w : memref<64x128xf32>, memref<64x128xf32>) outs(%sums : memref<64x64xf32>) {
    ^bb0(%s: f32):
      kernel.yield %s : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%sums : memref<64x64xf32>) outs(%y : memref<64x64xf32>) {
    ^bb0(%s: f32, %o: f32):
      %0 = math.tanh %s : f32
      linalg.yield %0 : f32
    }
    memref.dealloc %sums : memref<64x64xf32>
  } else {
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%y : memref<64x64xf32>) {
    ^bb0(%o: f32):
      %0 = math.exp %o : f32
      linalg.yield %0 : f32
    }
  }
  // CHECK: device.group single_block {
  // CHECK:      scf.if
  // CHECK-NEXT: linalg.generic
  // CHECK:      linalg.generic
  scf.if %flag {
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%y : memref<64x64xf32>) {
    ^bb0(%o: f32):
      %0 = math.exp %o : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%y : memref<64x64xf32>) {
    ^bb0(%o: f32):
      %0 = math.tanh %o : f32
      linalg.yield %0 : f32
    }
  }
  // CHECK:      scf.if
  // CHECK-NEXT: memref.load
  // CHECK-NEXT: kernel.contract
  scf.if %flag {
    %first = memref.load %y[%c0, %c0] : memref<64x64xf32>
    kernel.contract {indexing_maps = [#a, affine_map<(m, n, k) -> (n, k)>, #c]} ins(%x, %w : memref<64x128xf32>, memref<64x128xf32>) outs(%y : memref<64x64xf32>) {
    ^bb0(%s: f32):
      %0 = arith.addf %s, %first : f32
      kernel.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// What ranks do is the host's; it reads in memory whether it is to be done.

#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<4096xf32>
  %s = runtime.input %inputs[1] : memref<i1>
  %s0 = memref.load %s[] : memref<i1>
  %not = arith.xori %s0, %true : i1
  // CHECK: device.group single_block {
  // CHECK:   arith.xori
  // CHECK:   memref.load
  // CHECK-NEXT: memref.store %{{.*}}, %[[PLACE:.*]][] : memref<i1>
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[YES:.*]] = memref.load %[[PLACE]][] : memref<i1>
  // CHECK: device.group collective {
  // CHECK-NEXT: runtime.collective_start %{{.*}} if %[[YES]] bucket 0
  // CHECK-NEXT: runtime.collective_wait %{{.*}} if %{{.*}} bucket 0
  // CHECK-NEXT: }
  runtime.collective_start %x if %not bucket 0 : memref<4096xf32>
  runtime.collective_wait %x if %not bucket 0 : memref<4096xf32>
  // A small group does not join it.
  // CHECK: device.group single_block {
  // CHECK-NEXT: memref.store
  memref.store %s0, %s[] : memref<i1>
  return %ok : i32
}
