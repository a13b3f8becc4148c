// RUN: mp-opt %s --split-input-file --mp-emulate-kernels | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-emulate-kernels=check-races | FileCheck %s --check-prefix=RACES

// The threads of a map do not wait for each other: they are a loop.

// CHECK-NOT: gpu.module
// CHECK-LABEL: func.func @main
// CHECK: device.launch @kernels::@map grid [4, 1, 1] block [256, 1, 1]
func.func @main(%a: memref<1024xf32>, %b: memref<1024xf32>) {
  device.launch @kernels::@map grid [4, 1, 1] block [256, 1, 1] (%a, %b) : memref<1024xf32>, memref<1024xf32>
  return
}

gpu.module @kernels {
  // CHECK-LABEL: llvm.func internal @map(
  // CHECK-SAME: %[[A:.*]]: !llvm.ptr {llvm.noalias}, %[[B:.*]]: !llvm.ptr) {
  // CHECK-DAG: %[[THREAD:.*]] = llvm.call @mp_emulated_this_thread() : () -> !llvm.ptr
  // CHECK-DAG: %[[BLOCK:.*]] = llvm.load %[[THREAD]] : !llvm.ptr -> !llvm.ptr
  // CHECK-DAG: %[[TID_AT:.*]] = llvm.getelementptr %[[THREAD]][2] : (!llvm.ptr) -> !llvm.ptr, i32
  // CHECK-DAG: %[[TID:.*]] = llvm.load %[[TID_AT]] : !llvm.ptr -> i32
  // CHECK-DAG: %[[CTAID_AT:.*]] = llvm.getelementptr %[[BLOCK]][3] : (!llvm.ptr) -> !llvm.ptr, i32
  // CHECK-DAG: %[[CTAID:.*]] = llvm.load %[[CTAID_AT]] : !llvm.ptr -> i32
  llvm.func @map(%a: !llvm.ptr {llvm.noalias}, %b: !llvm.ptr)
      attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 256, 1, 1>, gpu.known_block_size = array<i32: 256, 1, 1>} {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %bid = nvvm.read.ptx.sreg.ctaid.x range <i32, 0, 4> : i32
    %size = nvvm.read.ptx.sreg.ntid.x : i32
    // CHECK: %[[FIRST:.*]] = llvm.mul %[[CTAID]],
    // CHECK: %[[I:.*]] = llvm.add %[[FIRST]], %[[TID]]
    %first = llvm.mul %bid, %size : i32
    %i = llvm.add %first, %tid : i32
    // CHECK-NOT: addrspacecast
    %global = llvm.addrspacecast %a : !llvm.ptr to !llvm.ptr<1>
    // CHECK: llvm.getelementptr %[[A]][%[[I]]] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %from = llvm.getelementptr %global[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %from : !llvm.ptr<1> -> f32
    %y = llvm.intr.exp2(%x) : (f32) -> f32
    %to = llvm.getelementptr %b[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    llvm.store %y, %to : f32, !llvm.ptr
    llvm.return
  }
}
// CHECK-LABEL: llvm.func internal @map__packed(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr)
// CHECK: %[[P0:.*]] = llvm.getelementptr %[[P]][0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK: %[[Q0:.*]] = llvm.load %[[P0]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[V0:.*]] = llvm.load %[[Q0]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[P1:.*]] = llvm.getelementptr %[[P]][1]
// CHECK: %[[Q1:.*]] = llvm.load %[[P1]]
// CHECK: %[[V1:.*]] = llvm.load %[[Q1]]
// CHECK: llvm.call @map(%[[V0]], %[[V1]])
// CHECK: llvm.mlir.global internal constant @map__name("map\00")
// CHECK: llvm.mlir.global external constant @mp_emulated_kernel_count(1 : i32)
// CHECK: llvm.mlir.global external constant @mp_emulated_kernels()
// CHECK: llvm.mlir.addressof @map__name
// CHECK: llvm.mlir.addressof @map__packed
// Parameters, static shared memory, threads, flags, the block's sizes, gaps.
// CHECK: llvm.mlir.constant(2 : i32)
// CHECK: llvm.mlir.constant(0 : i32)
// CHECK: llvm.mlir.constant(256 : i32)
// CHECK: llvm.mlir.constant(0 : i32)
// CHECK: llvm.mlir.constant(256 : i32)

// -----

// Shared variables lie one behind the other, with a gap; dynamic memory behind
// them.

// CHECK-NOT: addr_space
// CHECK: llvm.mlir.global internal constant @table
gpu.module @kernels {
  llvm.mlir.global internal @first() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<5 x f32>
  llvm.mlir.global internal @second() {addr_space = 3 : i32} : i32
  llvm.mlir.global external @mp_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  llvm.mlir.global internal constant @table(dense<[1.0, 2.0]> : tensor<2xf32>) {addr_space = 4 : i32} : !llvm.array<2 x f32>

  // CHECK-LABEL: llvm.func internal @shares(
  // RACES-LABEL: llvm.func internal @shares(
  llvm.func @shares(%a: !llvm.ptr) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128, 2>} {
    // CHECK: %[[SHARED_AT:.*]] = llvm.getelementptr %{{.*}}[5] : (!llvm.ptr) -> !llvm.ptr, i64
    // CHECK: %[[SHARED:.*]] = llvm.load %[[SHARED_AT]] : !llvm.ptr -> !llvm.ptr
    %first = llvm.mlir.addressof @first : !llvm.ptr<3>
    %second = llvm.mlir.addressof @second : !llvm.ptr<3>
    %dynamic = llvm.mlir.addressof @mp_shared : !llvm.ptr<3>
    %table = llvm.mlir.addressof @table : !llvm.ptr<4>
    // CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[SHARED]][0]
    // CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[SHARED]][48]
    // CHECK: %[[DYNAMIC:.*]] = llvm.getelementptr %[[SHARED]][1024]
    // CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @table : !llvm.ptr
    %x = llvm.load %table : !llvm.ptr<4> -> f32
    // CHECK: llvm.store %{{.*}}, %[[FIRST]]
    // RACES: %[[FOUR:.*]] = llvm.mlir.constant(4 : i64)
    // RACES: llvm.call @mp_emulated_write(%[[THREAD:.*]], %{{.*}}, %[[FIRST:.*]], %[[FOUR]])
    // RACES-NEXT: llvm.store %{{.*}}, %[[FIRST]]
    llvm.store %x, %first : f32, !llvm.ptr<3>
    // CHECK: llvm.call @mp_emulated_barrier(
    nvvm.barrier0
    // CHECK: llvm.load %[[SECOND]]
    // RACES: llvm.call @mp_emulated_read(%[[THREAD]], %{{.*}}, %[[SECOND:.*]], %
    // RACES-NEXT: llvm.load %[[SECOND]]
    %y = llvm.load %second : !llvm.ptr<3> -> i32
    // CHECK: llvm.store %{{.*}}, %[[DYNAMIC]]
    // RACES: llvm.call @mp_emulated_write(
    // RACES-NEXT: llvm.store
    llvm.store %y, %dynamic : i32, !llvm.ptr<3>
    // Global memory is not looked at.
    // RACES-NEXT: llvm.store
    llvm.store %y, %a : i32, !llvm.ptr
    llvm.return
  }
}
// CHECK: llvm.mlir.global internal constant @shares__gaps(dense<[20, 28]> : tensor<2xi32>)
// CHECK: llvm.mlir.global internal constant @mp_emulated_places("barrier0 1 (mp-emulate-kernels.mlir:{{[0-9]+}})\00")
// RACES: "store 1 (mp-emulate-kernels.mlir:{{[0-9]+}})\00barrier0 1 ({{.*}})\00load 1 (
// CHECK: llvm.mlir.constant(1 : i32)
// CHECK: llvm.mlir.constant(52 : i32)
// CHECK: llvm.mlir.constant(256 : i32)
// CHECK: llvm.mlir.constant(3 : i32)

// -----

// What lanes of a warp do together.

gpu.module @kernels {
  // CHECK-LABEL: llvm.func internal @warp(
  llvm.func @warp(%a: !llvm.ptr) attributes {gpu.kernel} {
    %mask = llvm.mlir.constant(-1 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %clamp = llvm.mlir.constant(31 : i32) : i32
    %x = llvm.load %a : !llvm.ptr -> f32
    // CHECK: %[[BITS:.*]] = llvm.bitcast %{{.*}} : f32 to i32
    // CHECK: %[[KIND:.*]] = llvm.mlir.constant(0 : i32)
    // CHECK: %[[BOTH:.*]] = llvm.call @mp_emulated_shuffle(%[[THREAD:.*]], %{{.*}}, %[[KIND]], %{{.*}}, %[[BITS]], %{{.*}}, %{{.*}}) : (!llvm.ptr, i32, i32, i32, i32, i32, i32) -> i64
    // CHECK: %[[LOW:.*]] = llvm.trunc %[[BOTH]] : i64 to i32
    // CHECK: llvm.bitcast %[[LOW]] : i32 to f32
    %y = nvvm.shfl.sync bfly %mask, %x, %one, %clamp : f32 -> f32
    // CHECK: llvm.call @mp_emulated_shuffle
    // CHECK: llvm.insertvalue
    // CHECK: llvm.insertvalue
    %z = nvvm.shfl.sync down %mask, %one, %one, %clamp {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
    %p = llvm.extractvalue %z[1] : !llvm.struct<(i32, i1)>
    // CHECK: llvm.call @mp_emulated_vote
    // CHECK: llvm.icmp "ne"
    %any = nvvm.vote.sync any %mask, %p -> i1
    // CHECK: llvm.call @mp_emulated_vote
    %ballot = nvvm.vote.sync ballot %mask, %any -> i32
    // CHECK: llvm.call @mp_emulated_reduce
    %sum = nvvm.redux.sync add %ballot, %mask : i32 -> i32
    // CHECK: llvm.call @mp_emulated_match
    %same = nvvm.match.sync any %mask, %sum : i32 -> i32
    // CHECK: llvm.call @mp_emulated_elect
    %leads = nvvm.elect.sync -> i1
    // CHECK: llvm.call @mp_emulated_sync_warp
    nvvm.bar.warp.sync %mask : i32
    // CHECK: llvm.call @mp_emulated_named_barrier
    %threads = llvm.mlir.constant(64 : i32) : i32
    nvvm.barrier id = %one number_of_threads = %threads
    llvm.store %same, %a : i32, !llvm.ptr
    llvm.return
  }
}

// -----

// Matrices and copies.

gpu.module @kernels {
  llvm.mlir.global external @mp_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

  // CHECK-LABEL: llvm.func internal @product(
  llvm.func @product(%a: !llvm.ptr<1>, %c: !llvm.ptr) attributes {nvvm.kernel} {
    %shared = llvm.mlir.addressof @mp_shared : !llvm.ptr<3>
    %eight = llvm.mlir.constant(8 : i32) : i32
    // CHECK: llvm.call @mp_emulated_copy(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[SIZE:.*]], %[[SIZE]]) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i32, i32) -> ()
    nvvm.cp.async.shared.global %shared, %a, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    // CHECK: llvm.call @mp_emulated_copy
    nvvm.cp.async.shared.global %shared, %a, 16, cache = ca, %eight : !llvm.ptr<3>, !llvm.ptr<1>, i32
    // CHECK: llvm.call @mp_emulated_commit
    nvvm.cp.async.commit.group
    // CHECK: llvm.call @mp_emulated_wait
    nvvm.cp.async.wait.group 0
    nvvm.memory.barrier #nvvm.mem_scope<cta>
    // CHECK: llvm.call @mp_emulated_load_matrix(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[OUT:[^ )]+]])
    // CHECK: %[[A:.*]] = llvm.load %[[OUT]] : !llvm.ptr -> !llvm.struct<(i32, i32, i32, i32)>
    %l = nvvm.ldmatrix %shared {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    %a0 = llvm.extractvalue %l[0] : !llvm.struct<(i32, i32, i32, i32)>
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    // CHECK-COUNT-10: llvm.store
    // CHECK: llvm.call @mp_emulated_multiply(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[OUT]])
    // CHECK: llvm.load %[[OUT]] : !llvm.ptr -> !llvm.struct<(f32, f32, f32, f32)>
    %d = nvvm.mma.sync A[%a0, %a0, %a0, %a0] B[%a0, %a0] C[%zero, %zero, %zero, %zero]
        {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>}
        : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
    // Rounding to bf16 is the same on every processor.
    // CHECK-NOT: llvm.fptrunc
    %r = llvm.fptrunc %d0 : f32 to bf16
    llvm.store %r, %c : bf16, !llvm.ptr
    llvm.return
  }
}

// -----

// Threads of a kernel synchronize if those of a function that it calls do. A
// name that is taken gets another one; the table has the first name.

llvm.func @helper() {
  llvm.return
}
gpu.module @kernels {
  llvm.func @helper() {
    nvvm.barrier0
    llvm.return
  }
  // CHECK-LABEL: llvm.func internal @calls(
  // CHECK: llvm.call @[[HELPER:helper_.*]]() : () -> ()
  llvm.func @calls() attributes {nvvm.kernel} {
    llvm.call @helper() : () -> ()
    llvm.return
  }
}
// CHECK: @calls__name("calls\00")
// CHECK: llvm.mlir.addressof @calls__packed
// CHECK-COUNT-3: llvm.mlir.constant(0 : i32)
// CHECK: llvm.mlir.constant(1 : i32)

// -----

// CHECK-LABEL: @mp_emulated_kernel_count(0 : i32)
// CHECK: llvm.mlir.global external constant @mp_emulated_kernels() {{.*}}: !llvm.array<0 x struct<
module {}
