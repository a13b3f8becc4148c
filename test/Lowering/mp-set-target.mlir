// RUN: mp-opt %s --mp-set-target | FileCheck %s
// RUN: mp-opt %s --mp-set-target=isa=neon | FileCheck %s --check-prefix=NEON
// RUN: mp-opt %s --mp-set-target="isa=avx512 kernels=dot" | FileCheck %s --check-prefix=DOT
// RUN: mp-opt %s --mp-set-target="isa=avx512 kernels=direct" | FileCheck %s --check-prefix=DIRECT

// CHECK: module attributes {mp.target = #mp.target<cpu, isa = avx2, products = widen>}
// NEON: #mp.target<cpu, isa = neon, products = widen>
// DOT: #mp.target<cpu, isa = avx512, products = dot>
// DIRECT: #mp.target<cpu, isa = avx512, products = widen, direct>
module {
}
