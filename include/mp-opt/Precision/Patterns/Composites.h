//===- Composites.h - Decomposed operators ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters expand normalizations, softmaxes and losses into single nodes;
// properties of the op, such as computing in fp32 inside, must hold for these
// nodes. A composite is found by dataflow: a reduction of a pointwise function
// of x whose result meets x again. The function and the broadcast determine its
// name, which is always that of an ONNX or com.microsoft op, so that a policy
// can be looked up:
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
// Scale and bias after a normalization do not belong to it. Normalized values
// are of size one, so scale and bias lose no more than any product in 16 bit.
// Mixed-precision models of frameworks are written in this form, and runtimes
// recognize it when they fuse the nodes again. Scale and bias between the
// reductions belong to the composite.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_PATTERNS_COMPOSITES_H
#define MPOPT_PRECISION_PATTERNS_COMPOSITES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

namespace mp {

struct Composite {
  /// The op that the nodes implement.
  llvm::StringRef domain, opType;
  /// Nodes in the order of the graph; no node is in two composites.
  std::vector<mlir::Operation *> nodes;
};

/// The composites of a scope (a graph or a specialized function) and its
/// subgraphs, in the order of their first nodes.
std::vector<Composite> findComposites(mlir::Operation *scope);

} // namespace mp

#endif // MPOPT_PRECISION_PATTERNS_COMPOSITES_H
