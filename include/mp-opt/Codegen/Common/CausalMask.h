//===- CausalMask.h - Keys that no query attends to -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_CAUSALMASK_H
#define MPOPT_CODEGEN_COMMON_CAUSALMASK_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace mp::kernel {

/// A comparison that holds for keys n and queries m of n - m <= `last`, or for
/// all others; the others have no weight.
struct CausalMask {
  mlir::Value condition;
  int64_t last;
  bool holdsBefore;
};

/// The comparison of indices that masks the scores of all later keys, in an
/// AttentionOp or AttentionGradientOp; absent if they are not known to be
/// masked. Scores that a comparison replaces, or adds to, by minus infinity are
/// masked; so are those by a number below -1e30, unless other operands or
/// comparisons could mask the whole row.
std::optional<CausalMask> getCausalMask(mlir::Operation *attention);

} // namespace mp::kernel

#endif // MPOPT_CODEGEN_COMMON_CAUSALMASK_H
