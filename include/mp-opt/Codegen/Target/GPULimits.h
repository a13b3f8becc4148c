//===- GPULimits.h - Limits of NVIDIA's GPUs --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits that generated kernels and the emulator depend on when they are
// compiled. The numbers are from the CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability"; sizes are in bytes. The header needs
// no LLVM, since the emulator has none.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_TARGET_GPULIMITS_H
#define MPOPT_CODEGEN_TARGET_GPULIMITS_H

#include <cstdint>

namespace mp::device {

/// Lanes of a warp.
constexpr int32_t warpSize = 32;
/// The maximum number of threads of a block.
constexpr int32_t maxThreads = 1024;
/// The maximum size of a kernel's parameters, from CUDA 12.1 on.
constexpr int32_t maxParameterBytes = 32764;

/// The maximum shared memory of a block without an opt-in, which is also that
/// of variables of known size.
constexpr int32_t maxStaticShared = 48 * 1024;
/// The maximum shared memory of a block with an opt-in: on each GPU from sm_80
/// on (the least is that of sm_86, sm_89 and sm_120), and on Hopper (sm_90).
constexpr int32_t maxShared = 99 * 1024, maxHopperShared = 227 * 1024;

} // namespace mp::device

#endif // MPOPT_CODEGEN_TARGET_GPULIMITS_H
