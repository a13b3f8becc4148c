//===- UnboundedInputs.h - Squares of inputs of unknown range ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing is known of what a graph's float input reaches. fp16 holds most
// inputs, but the square of 256 is beyond it, and so is a sum of many numbers.
// What is looked for: products of an input with itself (Gram matrices among
// them), even powers, sums of squares, and sums of more than 64 elements, as
// far as data movement, sums, choices and factors of known range lead from the
// input; and 16-bit nodes that compute these, or read them on the same ways.
//
// A bound, a normalization, a root, a division by what is computed, and a
// contraction with weights end the way: what comes behind is an activation.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_UNBOUNDEDINPUTS_H
#define MPOPT_PRECISION_ANALYSIS_UNBOUNDEDINPUTS_H

#include "mp-opt/Precision/Analysis/RangeAnalysis.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mp {

struct UnboundedPower {
  /// A node that is assigned 16 bit and that no rule for nodes speaks of.
  mlir::Operation *node;
  mlir::Value input;
};

/// In the order of the nodes. The graph has its precisions assigned, and no
/// type has changed.
std::vector<UnboundedPower> findUnboundedPowers(onnxir::GraphOp graph,
                                                RangeAnalysis &ranges);
/// The same of a graph without precisions, where `isLow` tells which nodes are
/// 16 bit in what was made of it.
std::vector<UnboundedPower>
findUnboundedPowers(onnxir::GraphOp graph, RangeAnalysis &ranges,
                    llvm::function_ref<bool(mlir::Operation *)> isLow);

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_UNBOUNDEDINPUTS_H
