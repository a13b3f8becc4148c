//===- LongReductions.h - Sums too long for 16 bit --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An accumulator with p bits of precision stalls at 2^p ones: 256 in bf16,
// 2048 in fp16. Runtimes differ in what they accumulate in, so that sums of
// more elements must be fp32 nodes. Contractions are exempt: all accumulate
// them in fp32. So are normalizations and softmaxes, whose sums are inside.
//
// Extents that the model does not tell count as too long for reductions over
// whole axes, and as short for pools: their windows are, and what a network's
// last pool is left with.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_LONGREDUCTIONS_H
#define MPOPT_PRECISION_ANALYSIS_LONGREDUCTIONS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

namespace mp {

struct LongReduction {
  mlir::Operation *node;
  /// "accumulates 70000 elements, bf16 counts to 256".
  std::string reason;
};

/// The nodes of a scope and its subgraphs that must not accumulate in `low`,
/// in order.
std::vector<LongReduction> findLongReductions(mlir::Operation *scope,
                                              ElementKind low);

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_LONGREDUCTIONS_H
