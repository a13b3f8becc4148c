//===- IterationCounts.h - Iteration counts of loops ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_ITERATIONCOUNTS_H
#define MPOPT_GRAPH_ITERATIONCOUNTS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

namespace mp {

/// True if the number of iterations depends on data, i.e. not only on sizes and
/// constants. The Loop must have its count, condition and body.
bool hasOpenCount(mlir::Operation *loop);

/// True for a constant number of iterations that is not zero.
bool hasConstantCount(mlir::Operation *loop);

} // namespace mp

#endif // MPOPT_GRAPH_ITERATIONCOUNTS_H
