//===- GPUTarget.h - What kernels are made for ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_GPUTARGET_H
#define MPOPT_CODEGEN_GPU_GPUTARGET_H

#include "mp-opt/Dialect/Kernel/Kernel.h"

namespace mp::kernel {

/// Attribute of the module, a string: the chip of AMD's that its kernels are
/// for. Absent: NVIDIA's GPUs from sm_80 on, whose kernels are the same.
constexpr llvm::StringLiteral chipName = "kernel.chip";

/// What kernels have to know about the GPU.
struct GPUTarget {
  /// What multiplies 16-bit factors.
  Multiplier multiplier = Multiplier::MMA;
  /// Whether copies to shared memory go on while a kernel does (cp.async).
  bool hasAsyncCopies = true;
  /// Bytes of shared memory that a block may have.
  int64_t sharedBytes = 99 * 1024;

  /// Of the module that `op` is in; NVIDIA's where a chip is not known.
  static GPUTarget get(mlir::Operation *op);
  /// gfx942 (MI300) multiplies by MFMA, 64 lanes a wave; gfx1100 (RX 7900) by
  /// WMMA, 32 lanes. None: another chip.
  static std::optional<GPUTarget> find(llvm::StringRef chip);
};

/// The chips that `find` knows.
llvm::ArrayRef<llvm::StringRef> getChips();

} // namespace mp::kernel

#endif // MPOPT_CODEGEN_GPU_GPUTARGET_H
