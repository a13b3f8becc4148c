//===- UnboundedInputs.h - Squares of inputs of unknown range ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds arithmetic on graph inputs that may overflow fp16. The range of a float
// input is unknown. fp16 holds most inputs, but 256 squared is beyond it, and
// so is a sum of many numbers. The analysis looks for products of an input with
// itself (Gram matrices among them), even powers, sums of squares, and sums of
// more than 64 elements. It follows the input through data movement, sums,
// choices and factors of known range. It also finds 16-bit nodes that compute
// these, or read them along such a path.
//
// A bound, a normalization, a root, a division by a computed value, and a
// contraction with weights end the path: the values after them are activations.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_UNBOUNDEDINPUTS_H
#define MPOPT_PRECISION_ANALYSIS_UNBOUNDEDINPUTS_H

#include "mp-opt/Precision/Analysis/RangeAnalysis.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mp {

struct UnboundedPower {
  /// A node that is assigned 16 bit and that no rule for nodes mentions.
  mlir::Operation *node;
  mlir::Value input;
};

/// Finds the powers in the order of the nodes. The graph has its precisions
/// assigned, but no type has changed.
std::vector<UnboundedPower> findUnboundedPowers(onnxir::GraphOp graph,
                                                RangeAnalysis &ranges);
/// The same for a graph without precisions; `isLow` tells which of its nodes
/// are 16 bit in the converted graph.
std::vector<UnboundedPower>
findUnboundedPowers(onnxir::GraphOp graph, RangeAnalysis &ranges,
                    llvm::function_ref<bool(mlir::Operation *)> isLow);

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_UNBOUNDEDINPUTS_H
