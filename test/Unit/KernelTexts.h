//===- KernelTexts.h - Kernels for the emulator -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels in the LLVM and NVVM dialects, and the same with faults.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TEST_UNIT_KERNELTEXTS_H
#define MPOPT_TEST_UNIT_KERNELTEXTS_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mp {

constexpr int softmaxSize = 128;
constexpr int productM = 64, productN = 96, productK = 80;

/// y = exp2(x) of n elements; one thread each.
std::string makeMap();
/// The moments and weights of n elements, unless a word is 0.
std::string makeUpdate();
/// Rows of 128 elements, a block of 128 threads each.
std::string makeSoftmax(llvm::StringRef name, llvm::StringRef fault = "");
/// c[M, N] = a[M, K] b[K, N] of bf16 with c in f32: blocks of 128 threads make
/// 32 x 32 of it, by copies of two stages, ldmatrix and mma.sync. 4096 bytes of
/// dynamic shared memory.
std::string makeProduct(llvm::StringRef name, int m, int n, int k,
                        llvm::StringRef fault = "");
/// Operations on the lanes of one warp; word 32 i + lane is the result of the
/// i-th one.
std::string makeWarp();
/// One product of a warp: lanes' words from memory, and back. `type` is f16 or
/// tf32.
std::string makeSingleProduct(llvm::StringRef type);
/// x as tf32, rounded away, to even and to zero, and exp2(x).
std::string makeConversions();
/// Words through shared memory: thread i writes word i and reads word i ^ by;
/// `between` is the code between both.
std::string makeExchange(llvm::StringRef name, int by, llvm::StringRef between);
/// A kernel with `count` barriers and nothing else.
std::string makeBarriers(int count);

} // namespace mp

#endif // MPOPT_TEST_UNIT_KERNELTEXTS_H
