//===- LongReductions.h - Sums too long for 16 bit --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An accumulator with p bits of precision stalls at 2^p ones: 256 in bf16, 2048
// in fp16. Runtimes use different accumulators, so sums of more elements must
// be fp32 nodes. Contractions are exempt, because all runtimes accumulate them
// in fp32, and so are normalizations and softmaxes, whose sums are internal.
//
// Unknown extents count as too long for reductions over whole axes, and as
// short for pools: windows are small, and so are the images of a network's last
// pool.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_LONGREDUCTIONS_H
#define MPOPT_PRECISION_ANALYSIS_LONGREDUCTIONS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

namespace mp {

struct LongReduction {
  mlir::Operation *node;
  /// For example "accumulates 70000 elements, bf16 counts to 256".
  std::string reason;
};

/// The nodes of a scope and its subgraphs that must not accumulate in `low`,
/// in order.
std::vector<LongReduction> findLongReductions(mlir::Operation *scope,
                                              ElementKind low);

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_LONGREDUCTIONS_H
