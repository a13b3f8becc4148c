// RUN: mp-opt %s --split-input-file --mp-merge-groups | FileCheck %s

// The rules of an optimizer for one parameter, each reading what the one in
// front of it leaves: one map, which reads the gradient once.

#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %g = runtime.input %inputs[0] : memref<4096xf32>
  %m = runtime.input %inputs[1] : memref<4096xf32>
  %p = runtime.input %inputs[2] : memref<4096xf32>
  // CHECK: device.group elementwise {
  // CHECK-NEXT: linalg.generic {{.*}} ins(%[[M:.*]], %[[G:.*]] : memref<4096xf32>, memref<4096xf32>) outs(%[[M]], %{{.*}} : memref<4096xf32>, memref<4096xf32>)
  // CHECK-NEXT: ^bb0(%[[MI:.*]]: f32, %[[GI:.*]]: f32, %{{.*}}: f32, %[[PI:.*]]: f32):
  // CHECK-NEXT: %[[NEW:.*]] = arith.addf %[[MI]], %[[GI]]
  // CHECK-NEXT: %[[STEP:.*]] = arith.subf %[[PI]], %[[NEW]]
  // CHECK-NEXT: linalg.yield %[[NEW]], %[[STEP]]
  device.group elementwise {
    linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%m, %g : memref<4096xf32>, memref<4096xf32>) outs(%m : memref<4096xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  // CHECK-NOT: device.group
  device.group elementwise {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%m : memref<4096xf32>) outs(%p : memref<4096xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.subf %o, %a : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// What another point leaves is not there yet: the second map waits. The third
// waits for nothing, and becomes a part of the second's kernel.

#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
#k = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<64x64xf32>
  %y = runtime.output %outputs[0] () : memref<64x64xf32>
  %z = runtime.output %outputs[1] () : memref<64x64xf32>
  %w = runtime.output %outputs[2] () : memref<8192xf32>
  // CHECK: device.group elementwise {
  // CHECK: }
  // CHECK: device.group fused {
  // CHECK:   device.group elementwise {
  // CHECK:     outs(%{{.*}} : memref<64x64xf32>)
  // CHECK:   device.group elementwise {
  // CHECK:     outs(%{{.*}} : memref<8192xf32>)
  device.group elementwise {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x64xf32>) outs(%y : memref<64x64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %a, %a : f32
      linalg.yield %0 : f32
    }
  }
  device.group elementwise {
    linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%y : memref<64x64xf32>) outs(%z : memref<64x64xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
  }
  device.group elementwise {
    linalg.generic {indexing_maps = [#k], iterator_types = ["parallel"]} outs(%w : memref<8192xf32>) {
    ^bb0(%o: f32):
      %0 = arith.addf %o, %o : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// Places of the arena that overlap are the same memory: nothing moves.

#k = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %x = runtime.input %inputs[0] : memref<1024xf32>
  %y = runtime.output %outputs[0] () : memref<128xf32>
  %arena = memref.alloc() : memref<4096xi8>
  %a = memref.view %arena[%c0][] : memref<4096xi8> to memref<1024xf32>
  %b = memref.view %arena[%c256][] : memref<4096xi8> to memref<128xf32>
  // CHECK: device.group elementwise {
  // CHECK: outs(%{{.*}} : memref<128xf32>)
  // CHECK: device.group elementwise {
  // CHECK: outs(%{{.*}} : memref<1024xf32>)
  // CHECK-NOT: parts
  device.group elementwise {
    linalg.generic {indexing_maps = [#k, #k], iterator_types = ["parallel"]} ins(%b : memref<128xf32>) outs(%y : memref<128xf32>) {
    ^bb0(%i: f32, %o: f32):
      linalg.yield %i : f32
    }
  }
  device.group elementwise {
    linalg.generic {indexing_maps = [#k, #k], iterator_types = ["parallel"]} ins(%x : memref<1024xf32>) outs(%a : memref<1024xf32>) {
    ^bb0(%i: f32, %o: f32):
      linalg.yield %i : f32
    }
  }
  memref.dealloc %arena : memref<4096xi8>
  return %ok : i32
}

// -----

// What a reduction begins with is no kernel of its own.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#k = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  %x = runtime.input %inputs[0] : memref<64x1024xf32>
  %y = runtime.output %outputs[0] () : memref<64xf32>
  // CHECK: device.group reduce {
  // CHECK:   linalg.yield %{{.*}}
  // CHECK:   linalg.generic {{.*}} ["parallel", "reduction"]
  // CHECK: }
  // CHECK-NOT: device.group
  device.group elementwise {
    linalg.generic {indexing_maps = [#k], iterator_types = ["parallel"]} outs(%y : memref<64xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
  }
  device.group reduce {
    linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x1024xf32>) outs(%y : memref<64xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// Nor is it the end of a small group.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#k = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  %x = runtime.input %inputs[0] : memref<64x1024xf32>
  %small = runtime.input %inputs[1] : memref<8xf32>
  %y = runtime.output %outputs[0] () : memref<64xf32>
  %z = runtime.output %outputs[1] () : memref<8xf32>
  // CHECK: device.group fused {
  // CHECK:   device.group single_block {
  // CHECK:     math.exp
  // CHECK:   device.group reduce {
  // CHECK:     linalg.generic {{.*}} ["parallel"]
  // CHECK:     linalg.generic {{.*}} ["parallel", "reduction"]
  // CHECK-NOT: device.group
  device.group single_block {
    linalg.generic {indexing_maps = [#k, #k], iterator_types = ["parallel"]} ins(%small : memref<8xf32>) outs(%z : memref<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.exp %a : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [#k], iterator_types = ["parallel"]} outs(%y : memref<64xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
  }
  device.group reduce {
    linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x1024xf32>) outs(%y : memref<64xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// The new scale is written by the kernel that needs the old one: a small group
// in front of both has kept it.

#id = affine_map<(i) -> (i)>
#all = affine_map<(i) -> ()>
#none = affine_map<() -> ()>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  // CHECK-DAG: %[[SCALE:.*]] = runtime.input %{{.*}}[0]
  %scale = runtime.input %inputs[0] : memref<f32>
  %p = runtime.input %inputs[1] : memref<4096xf32>
  %flag = runtime.output %outputs[0] () : memref<f32>
  // CHECK: device.group single_block {
  // CHECK:   math.exp
  // CHECK:   linalg.generic {{.*}} ins(%[[SCALE]] : memref<f32>) outs(%[[COPY:.*]] : memref<f32>)
  device.group single_block {
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%scale : memref<f32>) outs(%flag : memref<f32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.exp %a : f32
      linalg.yield %0 : f32
    }
  }
  // CHECK: device.group fused {
  // CHECK:   device.group elementwise {
  // CHECK:     ins(%{{.*}}, %[[COPY]] : memref<f32>, memref<f32>) outs(%{{.*}} : memref<4096xf32>)
  // CHECK:   device.group single_block {
  // CHECK:     outs(%[[SCALE]] : memref<f32>)
  // CHECK-NOT: device.group
  device.group elementwise {
    linalg.generic {indexing_maps = [#all, #all, #id], iterator_types = ["parallel"]} ins(%flag, %scale : memref<f32>, memref<f32>) outs(%p : memref<4096xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.subf %o, %0 : f32
      linalg.yield %1 : f32
    }
  }
  device.group single_block {
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%flag : memref<f32>) outs(%scale : memref<f32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.mulf %o, %a : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// A small group behind the first reader has nothing to give it.

#id = affine_map<(i) -> (i)>
#all = affine_map<(i) -> ()>
#none = affine_map<() -> ()>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  // CHECK-DAG: %[[SCALE:.*]] = runtime.input %{{.*}}[0]
  %scale = runtime.input %inputs[0] : memref<f32>
  %p = runtime.input %inputs[1] : memref<4096xf32>
  %q = runtime.input %inputs[2] : memref<2048xf32>
  %flag = runtime.output %outputs[0] () : memref<f32>
  // CHECK: device.group single_block {
  // CHECK-NOT: ins(%[[SCALE]]
  // CHECK: device.group fused {
  // CHECK:   ins(%[[SCALE]] : memref<f32>) outs(%{{.*}} : memref<4096xf32>)
  // CHECK:   ins(%{{.*}}, %[[SCALE]] : memref<f32>, memref<f32>) outs(%{{.*}} : memref<2048xf32>)
  // CHECK: device.group single_block {
  // CHECK:   outs(%[[SCALE]] : memref<f32>)
  device.group elementwise {
    linalg.generic {indexing_maps = [#all, #id], iterator_types = ["parallel"]} ins(%scale : memref<f32>) outs(%p : memref<4096xf32>) {
    ^bb0(%b: f32, %o: f32):
      %0 = arith.subf %o, %b : f32
      linalg.yield %0 : f32
    }
  }
  device.group single_block {
    linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%flag : memref<f32>) {
    ^bb0(%o: f32):
      %0 = math.exp %o : f32
      linalg.yield %0 : f32
    }
  }
  device.group elementwise {
    linalg.generic {indexing_maps = [#all, #all, #id], iterator_types = ["parallel"]} ins(%flag, %scale : memref<f32>, memref<f32>) outs(%q : memref<2048xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.mulf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  device.group single_block {
    linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%scale : memref<f32>) {
    ^bb0(%o: f32):
      %0 = arith.mulf %o, %o : f32
      linalg.yield %0 : f32
    }
  }
  return %ok : i32
}

// -----

// Products that differ in memory alone are one kernel, though one of them could
// wait. One with another epilogue is not.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  %same = arith.constant 0.0 : f32
  %x = runtime.input %inputs[0] : memref<256x128xbf16>
  %v = runtime.input %inputs[1] : memref<128x128xbf16>
  %w = runtime.input %inputs[2] : memref<128x128xbf16>
  // CHECK-DAG: %[[P:.*]] = runtime.output %{{.*}}[0]
  // CHECK-DAG: %[[Q:.*]] = runtime.output %{{.*}}[1]
  // CHECK-DAG: %[[R:.*]] = runtime.output %{{.*}}[2]
  %p = runtime.output %outputs[0] () : memref<256x128xbf16>
  %q = runtime.output %outputs[1] () : memref<256x128xbf16>
  %r = runtime.output %outputs[2] () : memref<256x128xf32>
  // CHECK: device.group contract {
  // CHECK-NEXT: kernel.contract {{.*}} outs(%[[P]]
  // CHECK: kernel.contract {{.*}} outs(%[[Q]]
  // CHECK: device.group fused {
  // CHECK-NEXT: device.group elementwise {
  // CHECK: device.group elementwise {
  // CHECK: device.group contract {
  // CHECK-NEXT: kernel.contract {{.*}} outs(%[[R]]
  // CHECK-NOT: kernel.contract
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %v : memref<256x128xbf16>, memref<128x128xbf16>) outs(%p : memref<256x128xbf16>) {
    ^bb0(%s: f32):
      %0 = arith.maximumf %s, %zero : f32
      %1 = arith.truncf %0 : f32 to bf16
      kernel.yield %1 : bf16
    }
  }
  device.group elementwise {
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%p : memref<256x128xbf16>) {
    ^bb0(%o: bf16):
      %0 = math.exp %o : bf16
      linalg.yield %0 : bf16
    }
  }
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%p, %v : memref<256x128xbf16>, memref<128x128xbf16>) outs(%r : memref<256x128xf32>) {
    ^bb0(%s: f32):
      kernel.yield %s : f32
    }
  }
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %w : memref<256x128xbf16>, memref<128x128xbf16>) outs(%q : memref<256x128xbf16>) {
    ^bb0(%s: f32):
      %0 = arith.maximumf %s, %same : f32
      %1 = arith.truncf %0 : f32 to bf16
      kernel.yield %1 : bf16
    }
  }
  device.group elementwise {
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%q : memref<256x128xbf16>) {
    ^bb0(%o: bf16):
      %0 = math.exp %o : bf16
      linalg.yield %0 : bf16
    }
  }
  return %ok : i32
}

// -----

// Groups stay on their side of what ranks do: these maps wait for nothing, and
// would be parts of one kernel.

#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @main
func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %x = runtime.input %inputs[0] : memref<4096xf32>
  %g = runtime.input %inputs[1] : memref<64xf32>
  %y = runtime.output %outputs[0] () : memref<4096xf32>
  %z = runtime.output %outputs[1] () : memref<4096xf32>
  // CHECK: device.group elementwise
  // CHECK: device.group collective
  // CHECK: device.group elementwise
  // CHECK: device.group collective
  // CHECK-NOT: device.group
  device.group elementwise {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
  }
  device.group collective {
    runtime.collective_start %g bucket 0 : memref<64xf32>
  }
  device.group elementwise {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<4096xf32>) outs(%z : memref<4096xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
  }
  device.group collective {
    runtime.collective_wait %g bucket 0 : memref<64xf32>
  }
  return %ok : i32
}
