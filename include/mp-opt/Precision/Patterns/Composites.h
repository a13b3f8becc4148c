//===- Composites.h - Nodes that stand for one op ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters spell out normalizations, softmaxes and losses node by node; what
// holds for the op - that it runs in fp32 inside - must hold for its pieces. A
// composite is found by dataflow: a reduction of a pointwise function of x
// whose result meets x again. What the function and the broadcast are tells its
// name, always that of an ONNX or com.microsoft op, so that a policy can be
// asked:
//
//   LayerNormalization, GroupNormalization, InstanceNormalization,
//   MeanVarianceNormalization   x minus its mean, over its deviation
//   RMSNormalization            x over the root of its mean square
//   LpNormalization             x over a norm or a sum of it
//   Softmax, LogSoftmax, ReduceLogSumExp
//   ReduceSumSquare, ReduceL2, ReduceL1
//                               variances, norms, squared and absolute errors
//   NegativeLogLikelihoodLoss   sums of weighted logarithms
//   Sigmoid, Softplus, Sinh     an exponential until it is bounded again
//   SoftmaxGrad_13, LayerNormalizationGrad (com.microsoft)
//
// Scale and bias behind a normalization are no part of it: what is normalized
// is of size one, so that they lose no more than any product in 16 bit, which
// is how frameworks' own mixed models are written, and the form that runtimes
// know when they fuse the nodes again. Between the reductions they are a part.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_PATTERNS_COMPOSITES_H
#define MPOPT_PRECISION_PATTERNS_COMPOSITES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

namespace mp {

struct Composite {
  /// The op that the nodes stand for.
  llvm::StringRef domain, opType;
  /// In the order of the graph; no node is in two composites.
  std::vector<mlir::Operation *> nodes;
};

/// The composites of a scope - a graph or a specialized function - and its
/// subgraphs, in the order of their first nodes.
std::vector<Composite> findComposites(mlir::Operation *scope);

} // namespace mp

#endif // MPOPT_PRECISION_PATTERNS_COMPOSITES_H
