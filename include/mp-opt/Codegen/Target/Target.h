//===- Target.h - What code is made for -------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A target is `#mp.target` on the module. Whoever starts the compiler makes it,
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

/// #mp.target outside of a context.
struct Target {
  InstructionSet isa = InstructionSet::AVX2;
  Products products = Products::Widen;
  /// No Winograd transforms.
  bool isDirect = false;

  /// Of the module that `op` is, or is in; this default where it has none.
  static Target get(mlir::Operation *op);
  TargetAttr getAttr(mlir::MLIRContext *context) const {
    return TargetAttr::get(context, isa, products, isDirect);
  }
};

/// What a user says of kernels: `--kernels` of the tools.
struct KernelChoice {
  /// Absent: what is fast on the machine.
  std::optional<Products> products;
  bool isDirect = false;
};

/// auto, direct, widen, dot and amx.
llvm::ArrayRef<llvm::StringRef> getKernelWords();
/// Fails with `expected auto, ... or amx, got 'WORD'` and the nearest of them.
llvm::Expected<KernelChoice> parseKernels(llvm::StringRef word);

/// The instruction set of a processor whose features have LLVM's names; absent
/// for architectures without code of ours.
std::optional<InstructionSet>
getInstructionSet(const llvm::Triple &triple,
                  llvm::function_ref<bool(llvm::StringRef feature)> has);

/// Where nothing is chosen, 16 bit is widened. Fails with a message where the
/// instructions lack what is chosen.
llvm::Expected<Target> makeTarget(InstructionSet isa,
                                  const KernelChoice &choice);

/// What is near at a time, in elements (MC, NC and KC of BLIS): rows and
/// columns of a block of the output, and how much of the summed dimension is
/// packed for it. Results do not depend on it.
struct CacheBlocks {
  int64_t mc, nc, kc;
};

/// What follows from a target: sizes and costs.
struct TargetNumbers {
  // Of every machine.

  /// Bytes of a cache line: where places of memory begin.
  int64_t lineBytes = 64;
  /// Elements of a range of a parallel loop: some microseconds, far more than
  /// it takes to hand out a range.
  int64_t rangeElements = 16384;
  /// Elements of a row that stays in the first caches.
  int64_t rowElements = 16384;
  /// Elements of a block of neighbouring rows of one line of memory: elements
  /// of a row may all be in other pages.
  int64_t rowBlockElements = 8192;
  /// Channels of results up to which packing the windows of a convolution costs
  /// much more than it saves, and how many times as much may then be computed.
  int64_t flattenedChannels = 7;
  double flattenedWaste = 8;

  // Of processors.

  /// Bytes of a vector register.
  int64_t vectorBytes = 64;
  /// The register tile of the micro-kernel: rows (MR), and columns in vectors.
  int64_t tileRows = 8;
  int64_t tileVectors = 3;
  CacheBlocks blocks = {480, 512, 256};
  /// Of products by tiles that are deeper than `blocks.kc` and have as many
  /// rows as this: they are so fast that micro-panels of columns have to come
  /// from the first cache, rows and sums of a block from the second.
  CacheBlocks deepBlocks = {512, 256, 256};
};

TargetNumbers getNumbers(const Target &target);
inline TargetNumbers getNumbers(mlir::Operation *op) {
  return getNumbers(Target::get(op));
}

} // namespace mp

#endif // MPOPT_CODEGEN_TARGET_TARGET_H
