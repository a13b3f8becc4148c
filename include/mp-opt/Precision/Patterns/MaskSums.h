//===- MaskSums.h - Scores to which a mask is added -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax does not change if the same number is added to all elements of a
// row, so a row that is masked as a whole by -10000 has the probabilities of
// its scores. In 16 bit this fails: near -10000, bf16 only has multiples of 64
// and fp16 multiples of 8, and the scores are lost. A sum of a mask and another
// value must therefore be fp32, and so must the values computed from it, up to
// the softmax.
//
// Affected sums. A mask is a value that flows from a constant through movement,
// choice, addition and products with values that no contraction has made:
// scores come from a contraction. The sum loses scores if 16 bit steps by a
// quarter or more near the constant (32 in bf16, 256 in fp16), and fp32 does
// not lose them too: near -1e9 and the lowest fp32 number its steps are 64 and
// more, so that the row comes out even in any precision. Scores are assumed to
// reach the limits of their range if these are below 32, else 32.
//
// Infinite elements leave nothing of a score. If a mask is chosen instead of
// the score, there is no sum. Attention ops add masks in their own way.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_PATTERNS_MASKSUMS_H
#define MPOPT_PRECISION_PATTERNS_MASKSUMS_H

#include "mp-opt/Precision/Analysis/RangeAnalysis.h"

namespace mp {

struct MaskSum {
  mlir::Operation *node;
  /// For example "sum with a mask of -10000 ('c'), beside which bf16 steps by
  /// 64".
  std::string reason;
};

/// The nodes of `scope` (a graph or a specialized function) and its subgraphs
/// that compute or hold such a sum, or take the exponential of one.
std::vector<MaskSum> findMaskSums(mlir::Operation *scope, RangeAnalysis &ranges,
                                  ElementKind low);

} // namespace mp

#endif // MPOPT_PRECISION_PATTERNS_MASKSUMS_H
