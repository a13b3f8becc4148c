//===- GPUTarget.h - The GPU that kernels are made for ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_GPUTARGET_H
#define MPOPT_CODEGEN_GPU_GPUTARGET_H

#include "mp-opt/Dialect/Kernel/Kernel.h"

namespace mp::kernel {

/// Attribute of the module, a string: the AMD chip that its kernels are for.
/// Absent: NVIDIA's GPUs from sm_80 on, whose kernels are the same.
constexpr llvm::StringLiteral chipName = "kernel.chip";

/// The properties of the GPU that kernels depend on.
struct GPUTarget {
  /// The instructions that multiply 16-bit factors.
  Multiplier multiplier = Multiplier::MMA;
  /// True if copies to shared memory can run while a kernel computes
  /// (cp.async).
  bool hasAsyncCopies = true;
  /// Bytes of shared memory that a block may have.
  int64_t sharedBytes = 99 * 1024;

  /// The target of the module that contains `op`; NVIDIA's if it names no chip,
  /// or one that is not known.
  static GPUTarget get(mlir::Operation *op);
  /// gfx942 (MI300) multiplies by MFMA, 64 lanes a wave; gfx1100 (RX 7900) by
  /// WMMA, 32 lanes. Absent for other chips.
  static std::optional<GPUTarget> find(llvm::StringRef chip);
};

/// The chips that `find` knows.
llvm::ArrayRef<llvm::StringRef> getChips();

} // namespace mp::kernel

#endif // MPOPT_CODEGEN_GPU_GPUTARGET_H
