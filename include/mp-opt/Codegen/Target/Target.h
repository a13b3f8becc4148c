//===- Target.h - The target of code ----------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A target is `#mp.target` on the module. The caller of the compiler makes it,
// once: from words of the user, from a triple and a processor's name, or from
// the machine itself (HostTarget.h). Passes read it, and the numbers that
// follow from it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_TARGET_TARGET_H
#define MPOPT_CODEGEN_TARGET_TARGET_H

#include "mp-opt/Dialect/MP/Attributes.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/TargetParser/Triple.h"

#include <optional>

namespace mp {

/// A copy of #mp.target without a context.
struct Target {
  InstructionSet isa = InstructionSet::AVX2;
  Products products = Products::Widen;
  /// No Winograd transforms.
  bool isDirect = false;

  /// The target of the module that `op` is, or is in; the default if it has
  /// none.
  static Target get(mlir::Operation *op);
  TargetAttr getAttr(mlir::MLIRContext *context) const {
    return TargetAttr::get(context, isa, products, isDirect);
  }
};

/// The user's choice of kernels: `--kernels` of the tools.
struct KernelChoice {
  /// Absent: the fastest on the machine.
  std::optional<Products> products;
  bool isDirect = false;
};

/// auto, direct, widen, dot and amx.
llvm::ArrayRef<llvm::StringRef> getKernelWords();
/// Fails with `expected auto, ... or amx, got 'WORD'` and the nearest word.
llvm::Expected<KernelChoice> parseKernels(llvm::StringRef word);

/// The instruction set of a processor whose features have LLVM's names; absent
/// for architectures that are not supported.
std::optional<InstructionSet>
getInstructionSet(const llvm::Triple &triple,
                  llvm::function_ref<bool(llvm::StringRef feature)> has);

/// Widens 16-bit factors if nothing is chosen. Fails with a message if the
/// processor lacks the instructions for the choice.
llvm::Expected<Target> makeTarget(InstructionSet isa,
                                  const KernelChoice &choice);

/// The sizes of blocks that caches hold, in elements (MC, NC and KC of BLIS):
/// rows and columns of a block of the output, and the part of the summed
/// dimension that is packed for it. Results do not depend on them.
struct CacheBlocks {
  int64_t mc, nc, kc;
};

/// Sizes and costs that follow from a target.
struct TargetNumbers {
  // Numbers of every machine.

  /// Bytes of a cache line: the alignment of slices of memory.
  int64_t lineBytes = 64;
  /// Elements of a range of a parallel loop: some microseconds, far more than
  /// the cost of handing out a range.
  int64_t rangeElements = 16384;
  /// Elements of a row that stays in the first caches.
  int64_t rowElements = 16384;
  /// Elements of a block of neighbouring rows that share lines of memory:
  /// elements of a row may all be in different pages.
  int64_t rowBlockElements = 8192;
  /// The most channels of results for which packing the windows of a
  /// convolution costs much more than it saves, and the factor by which
  /// computation may then grow.
  int64_t flattenedChannels = 7;
  double flattenedWaste = 8;

  // Numbers of processors.

  /// Bytes of a vector register.
  int64_t vectorBytes = 64;
  /// The register tile of the micro-kernel: rows (MR), and columns in vectors.
  int64_t tileRows = 8;
  int64_t tileVectors = 3;
  CacheBlocks blocks = {480, 512, 256};
  /// The blocks of products by tile registers that are deeper than `blocks.kc`
  /// and have at least `mc` rows: they are so fast that micro-panels of columns
  /// have to come from the first cache, rows and sums of a block from the
  /// second.
  CacheBlocks deepBlocks = {512, 256, 256};
};

TargetNumbers getNumbers(const Target &target);
inline TargetNumbers getNumbers(mlir::Operation *op) {
  return getNumbers(Target::get(op));
}

} // namespace mp

#endif // MPOPT_CODEGEN_TARGET_TARGET_H
