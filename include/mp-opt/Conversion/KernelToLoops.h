//===- KernelToLoops.h - Kernels for contractions ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes loops for contractions on memrefs: packed panels, a register-tiled
// micro-kernel, fused stores. Contractions that differ only in sizes share one
// function.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CONVERSION_KERNELTOLOOPS_H
#define MPOPT_CONVERSION_KERNELTOLOOPS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Triple.h"

#include <optional>

namespace mp::kernel {

/// How 16-bit operands are multiplied.
enum class Form {
  /// Widened to f32 while they are packed.
  Widen,
  /// By dot products of pairs of bf16; fp16 is widened.
  Dot,
  /// By tiles of bf16; fp16 is widened.
  Amx
};

/// How much is near at a time; results do not depend on it.
struct Blocking {
  /// Elements of the summed dimension that are packed.
  int64_t depth = 256;
  /// At most so many rows and columns of c are computed as one block.
  int64_t rows = 480;
  int64_t columns = 512;
};

/// What kernels are written for.
struct KernelTarget {
  Form form = Form::Widen;
  /// Whether convolutions may take fewer products than there are in their sums:
  /// errors are then relative to the largest values nearby.
  bool transforms = true;
  /// Bytes of a vector register.
  int64_t vectorBytes = 64;
  /// The register tile of the micro-kernel: rows, and columns in vectors.
  int64_t rows = 8;
  int64_t columnVectors = 3;
  Blocking blocking;
  /// Of products by tiles that are deeper than `blocking` and have as many rows
  /// as this: they are so fast that panels of columns have to come from the
  /// first cache, rows and sums of a block from the second.
  Blocking deepTiles = {256, 512, 256};
};

/// The instruction set that kernels use on a processor: `avx512`, `avx2` or
/// `neon`; empty for other architectures. Features have LLVM's names.
llvm::StringRef
getInstructionSet(const llvm::Triple &triple,
                  llvm::function_ref<bool(llvm::StringRef feature)> has);

/// That of an instruction set, `avx512`, `avx2` or `neon`, or of this
/// processor, `native`, and a form, `widen`, `dot` or `amx` or what is fast
/// here, `auto` (without transforms: `direct`). Absent for other words, and for
/// a form that the instruction set has not.
std::optional<KernelTarget> getKernelTarget(llvm::StringRef isa,
                                            llvm::StringRef form);

/// Replaces all contractions in functions of `module`, which are on memrefs, by
/// calls of functions that are added to it. The module's `mp.kept` says how
/// many slots those have that keep a constant's panels.
llvm::LogicalResult convertContracts(mlir::ModuleOp module,
                                     const KernelTarget &target);

} // namespace mp::kernel

#endif // MPOPT_CONVERSION_KERNELTOLOOPS_H
