//===- MaskAnalysis.h - Constants that only mask a softmax ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention is masked by adding -1e9, or the lowest fp32 number, before a
// softmax. In fp16 these become -inf, and a row that is masked as a whole
// becomes NaN. Any number far below all scores has the same effect: such a
// constant may be replaced by a bound that 16 bit holds, if all values computed
// from it end in a softmax.
//
// The bound. Let M be the greatest finite number. A sum of two terms (mask and
// score, or two masks) stays finite if each is at most M/2; each further sum on
// the way halves the share again, so that in a tree of sums all terms together
// stay within M. A factor on the way divides the share if it is above 1. The
// masked elements must still come out as zero: exp(x) is zero in fp32 below
// -104, so a mask of -B works as long as scores of one row spread less than B -
// 104. B is M/2 = 32752 in fp16 for the plain case; below 2048, times the
// factors on the way, the constant is left alone and its users stay fp32. A row
// that is masked as a whole stays finite, as in fp32. In fp32, -1e9 rounds the
// scores of such a row to multiples of 64, and the lowest fp32 number removes
// them. In 16 bit they are rounded to multiples of 16 or less, so the row comes
// out even, as in fp32, while scores stay below 8. MaskSums.h covers masks that
// keep scores in fp32.
//
// -inf stays as it is. LogSoftmax shows its masked inputs in its result, so it
// counts only if its result goes into Exp.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_PATTERNS_MASKANALYSIS_H
#define MPOPT_PRECISION_PATTERNS_MASKANALYSIS_H

#include "mp-opt/Precision/Analysis/RangeAnalysis.h"

#include "llvm/ADT/StringSet.h"

namespace mp {

struct MaskConstant {
  mlir::Operation *constant;
  /// In 16 bit, finite elements beyond +-bound become +-bound.
  double bound;
};

/// The constants of `scope` (a graph or a specialized function) and its
/// subgraphs that are used only as masks and have elements that would overflow
/// in `low`, alone or in a sum. Values that a training algorithm names do not
/// change.
std::vector<MaskConstant> findMasks(mlir::Operation *scope,
                                    RangeAnalysis &ranges, ElementKind low,
                                    const llvm::StringSet<> &trainingNames);

/// Constants marked `mp.clamp` that stay fp32 although an inserted cast narrows
/// a value computed from them before the softmax: they need the bound too.
std::vector<mlir::Operation *> findNarrowedMasks(mlir::Operation *scope);

} // namespace mp

#endif // MPOPT_PRECISION_PATTERNS_MASKANALYSIS_H
