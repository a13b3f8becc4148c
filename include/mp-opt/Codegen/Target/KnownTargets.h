//===- KnownTargets.h - Properties of GPUs ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Properties of the chips that kernels are made for, and the peak rates of
// products, for estimates of GPUs that are not present.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_TARGET_KNOWNTARGETS_H
#define MPOPT_CODEGEN_TARGET_KNOWNTARGETS_H

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include <string>

namespace mp {

/// The properties of a chip that kernels depend on. Sizes are in bytes.
struct GPUTarget {
  /// The name in `#device.target`.
  llvm::StringLiteral chip;
  /// The instructions that multiply 16-bit factors.
  kernel::Multiplier multiplier;
  /// True if copies to shared memory can run while a kernel computes
  /// (cp.async).
  bool hasAsyncCopies;
  /// Shared memory that a block may have.
  int64_t sharedBytes;
  /// Multiprocessors of a large GPU, and blocks for which it has room at once;
  /// the 32-bit registers of a multiprocessor, and its shared memory for
  /// blocks.
  int64_t numProcessors = 128, manyBlocks = 256, numRegisters = 65536,
          processorBytes = 200 * 1024;

  /// The target of the module that contains `op`; sm_80 if it names no chip, or
  /// one that is not known.
  static const GPUTarget &get(mlir::Operation *op);
  /// Null for other chips than sm_80 (kernels for all of NVIDIA's GPUs from
  /// sm_80 on), gfx942 (MI300; MFMA, 64 lanes a wave) and gfx1100 (RX 7900;
  /// WMMA, 32 lanes).
  static const GPUTarget *find(llvm::StringRef chip);
};

/// True if the module that contains `op` lets tensor cores multiply fp32 by
/// fp32 as tf32.
bool allowsTF32(mlir::Operation *op);

} // namespace mp

#endif // MPOPT_CODEGEN_TARGET_KNOWNTARGETS_H
