//===- KernelCounts.h - What a thread of a kernel executes ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts are taken from LLVM IR after optimization, so they hold for any
// kernel. A loop counts as often as its trip count says, which may depend on
// the numbers of block and thread; 8 times if data determine it. Branches that
// depend on data go to each of their targets equally often. Counts are
// therefore means over threads, and estimates.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_KERNELCOUNTS_H
#define MPOPT_EXECUTION_KERNELCOUNTS_H

#include <array>

namespace llvm {
class Function;
class TargetMachine;
class Module;
} // namespace llvm

namespace mp {

/// Instructions that a thread of a kernel executes on average, and what a block
/// occupies.
struct KernelCounts {
  /// Widths of accesses: 1, 2, 4, 8 and 16 bytes.
  static constexpr unsigned numWidths = 5;

  /// Accesses to global memory, by width.
  std::array<double, numWidths> loads = {}, stores = {};
  /// Copies from global to shared memory (cp.async), by width.
  std::array<double, numWidths> copies = {};
  /// Accesses to shared memory, in units of 4 bytes.
  double shared = 0;
  /// Multiply-adds of tensor cores: the share of one thread of 32.
  double tensor = 0;
  /// Sums, products and multiply-adds of fp32; those of fp64.
  double floats = 0, doubles = 0;
  /// Exponential functions, reciprocals, square roots and the like.
  double special = 0;
  /// All other instructions.
  double other = 0;
  /// Barriers of a block; groups of loads from global memory whose results are
  /// awaited together; atomic accesses.
  double barriers = 0, waits = 0, atomics = 0;

  /// Registers of a thread, from machine code or (`isEstimated`) from the
  /// number of values that are alive together.
  unsigned registers = 0;
  bool isEstimated = true;
  /// Bytes of shared memory whose size the kernel itself determines.
  unsigned staticShared = 0;
};

/// The blocks of a launch, and the threads of a block.
struct LaunchShape {
  unsigned blocks = 1, threads = 1;
};

/// Counts a kernel of a module whose accesses have been merged
/// (prepareCounting).
KernelCounts countKernel(llvm::Function &kernel, LaunchShape shape,
                         llvm::TargetMachine &machine);

/// Merges neighbouring accesses, as code generation does.
void prepareCounting(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace mp

#endif // MPOPT_EXECUTION_KERNELCOUNTS_H
