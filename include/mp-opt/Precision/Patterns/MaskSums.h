//===- MaskSums.h - Scores to which a mask is added -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax does not see what is added to all elements of a row, so a row that
// is masked as a whole by -10000 has the probabilities of its scores. Not so in
// 16 bit: beside -10000 bf16 has room for multiples of 64 only, fp16 for
// multiples of 8, and the scores are gone. So a sum of a mask and of something
// else must be fp32, and what is made of it must be, up to the softmax.
//
// Which sums. A mask is what flows from a constant, by movement, choice,
// addition and by products with what comes from no contraction: scores come
// from one. The sum loses scores if 16 bit steps by a quarter or more beside
// the constant (32 in bf16, 256 in fp16), and fp32 does not lose them too:
// beside -1e9 and the lowest fp32 its steps are 64 and more, so that the row
// comes out even in any precision. What scores reach is their range where that
// is less than 32, else 32.
//
// Infinite elements leave nothing of a score. Where a mask is chosen instead of
// the score there is no sum. Attention ops add masks in their own way.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_PATTERNS_MASKSUMS_H
#define MPOPT_PRECISION_PATTERNS_MASKSUMS_H

#include "mp-opt/Precision/Analysis/RangeAnalysis.h"

namespace mp {

struct MaskSum {
  mlir::Operation *node;
  /// "sum with a mask of -10000 ('c'), beside which bf16 steps by 64".
  std::string reason;
};

/// The nodes of `scope` (a graph or a specialized function) and its subgraphs
/// that compute or hold such a sum, or take the exponential of one.
std::vector<MaskSum> findMaskSums(mlir::Operation *scope, RangeAnalysis &ranges,
                                  ElementKind low);

} // namespace mp

#endif // MPOPT_PRECISION_PATTERNS_MASKSUMS_H
