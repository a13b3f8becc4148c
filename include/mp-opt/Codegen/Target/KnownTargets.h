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

/// The peak rates of a product.
struct DeviceModel {
  /// The name in flags: "h200".
  llvm::StringLiteral name;
  /// The product that the data sheet describes.
  llvm::StringLiteral title;
  uint64_t memoryBytes;
  /// Bytes per second.
  double bandwidth;
  /// Operations per second, a multiply-add being two: of 16-bit factors by
  /// tensor cores, without sparsity and with sums in fp32; of fp32; of fp64.
  double tensorRate, floatRate, doubleRate;
  /// The chip that its kernels are compiled for, its multiprocessors, and its
  /// L2 cache in bytes.
  llvm::StringLiteral chip;
  unsigned numProcessors;
  uint64_t cacheBytes;
  /// The highest clock of its multiprocessors, in Hz.
  double clock;
  /// Threads and blocks that a multiprocessor has room for, and its shared
  /// memory for blocks in bytes.
  unsigned maxThreads, maxBlocks, sharedBytes;
};

/// The seconds that the driver takes to launch a graph, and those between a
/// kernel and one that depends on it. These are estimates, since data sheets do
/// not state them.
constexpr double graphSeconds = 2.5e-6, launchSeconds = 1e-6;

/// Null if the name is unknown.
const DeviceModel *findDeviceModel(llvm::StringRef name);
/// "a100, h100 or h200".
std::string listDeviceModels();

} // namespace mp

#endif // MPOPT_CODEGEN_TARGET_KNOWNTARGETS_H
