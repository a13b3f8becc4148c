// RUN: not mp-opt %s --mp-set-target=isa=vax 2>&1 | FileCheck %s --check-prefix=ISA
// RUN: not mp-opt %s --mp-set-target="isa=avx512 kernels=dott" 2>&1 | FileCheck %s --check-prefix=KERNELS
// RUN: not mp-opt %s --mp-set-target="isa=avx2 kernels=amx" 2>&1 | FileCheck %s --check-prefix=AMX

// ISA: error: isa: expected avx2, avx512 or neon, got 'vax'
// KERNELS: error: kernels: expected auto, direct, widen, dot or amx, got 'dott'; did you mean 'dot'?
// AMX: error: --kernels=amx needs a processor with AVX-512
module {
}
