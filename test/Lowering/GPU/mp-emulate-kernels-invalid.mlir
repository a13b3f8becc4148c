// RUN: mp-opt %s --mp-emulate-kernels --split-input-file --verify-diagnostics

gpu.module @kernels {
  llvm.func @unknown() attributes {nvvm.kernel} {
    // expected-error @below {{cannot be emulated, in 'unknown': 'nvvm.cluster.arrive'}}
    nvvm.cluster.arrive
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @assembly() attributes {nvvm.kernel} {
    // expected-error @below {{cannot be emulated, in 'assembly': inline assembly}}
    llvm.inline_asm "bar.sync 0;", "" : () -> ()
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @sums(%a: vector<2xf16>) attributes {nvvm.kernel} {
    // expected-error @below {{cannot be emulated, in 'sums': found m16n8k16 of f16, expected m16n8k16 of bf16 or f16 or m16n8k8 of tf32, with sums of f32}}
    %d = nvvm.mma.sync A[%a, %a, %a, %a] B[%a, %a] C[%a, %a]
        {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>}
        : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @float(%x: f32, %mask: i32) attributes {nvvm.kernel} {
    // expected-error @below {{cannot be emulated, in 'float': reductions of floats}}
    %y = nvvm.redux.sync fmax %x, %mask : f32 -> f32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @barrier(%x: i32) attributes {nvvm.kernel} {
    // expected-error @below {{cannot be emulated, in 'barrier': barriers that reduce}}
    %y = nvvm.barrier #nvvm.reduction<popc> %x -> i32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @intrinsic(%x: i32) attributes {nvvm.kernel} {
    // expected-error @below {{cannot be emulated, in 'intrinsic': intrinsic 'llvm.nvvm.barrier0.popc'}}
    %y = llvm.call_intrinsic "llvm.nvvm.barrier0.popc"(%x) : (i32) -> i32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @pointer(%f: !llvm.ptr) attributes {nvvm.kernel} {
    // expected-error @below {{cannot be emulated, in 'pointer': a call by a pointer}}
    llvm.call %f() : !llvm.ptr, () -> ()
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @other(%f: !llvm.ptr) attributes {nvvm.kernel} {
    // expected-error @below {{cannot be emulated, in 'other': 'arith.constant'}}
    %x = arith.constant 1 : i32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{found 'gpu.func' in gpu.module 'kernels', expected functions and globals of the LLVM dialect}}
  gpu.func @early() kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  llvm.mlir.global internal @row() {addr_space = 3 : i32} : f32
  llvm.func @inner() {
    // expected-error @below {{found shared variable 'row' in 'inner', which is not a kernel}}
    %0 = llvm.mlir.addressof @row : !llvm.ptr<3>
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @local(%n: i32) attributes {nvvm.kernel} {
    // expected-error @below {{found local memory of a size that is not known, in 'local'}}
    %0 = llvm.alloca %n x f32 : (i32) -> !llvm.ptr
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @local() attributes {nvvm.kernel} {
    %n = llvm.mlir.constant(20000 : i32) : i32
    // expected-error @below {{found more local memory than 65536 bytes a thread, in 'local'}}
    %0 = llvm.alloca %n x f32 : (i32) -> !llvm.ptr
    llvm.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{found a parameter by value in 'value', expected pointers and numbers}}
  llvm.func @value(%a: !llvm.ptr {llvm.byval = i64}) attributes {nvvm.kernel} {
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.mlir.global internal @rows() {addr_space = 3 : i32} : !llvm.array<4294967300 x f32>
  // expected-error @below {{found 2147483647 bytes of static shared memory in 'large', expected at most 49152}}
  llvm.func @large() attributes {nvvm.kernel} {
    %0 = llvm.mlir.addressof @rows : !llvm.ptr<3>
    llvm.return
  }
}

// -----

// expected-error @below {{found a table of kernels, but there are more}}
llvm.mlir.global external constant @mp_emulated_kernels(1 : i32) : i32
gpu.module @kernels {
}
