//===- ExcessPrecision.h - Roundings that code may drop ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product sums in fp32, and its result is rounded to 16 bit because the graph
// says so. If all readers cast the result to fp32, the rounding only costs
// accuracy: code may pass on the sum. This holds through movement of data, and
// through additions and scalings after the product, whose own roundings are
// dropped as well.
//
// Whether code does so is a choice of its user (--excess-precision), as it
// changes the graph's meaning.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_EXCESSPRECISION_H
#define MPOPT_PRECISION_ANALYSIS_EXCESSPRECISION_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <string>
#include <vector>

namespace mp {

/// One rounding, as texts that outlive the graph.
struct DroppedRounding {
  /// The value that is not rounded.
  std::string value;
  /// The node that computes it, as in messages: "node 'fc' (Gemm-13)".
  std::string node;
  /// The type that the value has in the graph: "bf16" or "fp16".
  std::string precision;
};

/// The values of a graph that need not be rounded to 16 bit.
struct ExcessPrecision {
  /// All 16-bit values that code may keep in fp32.
  llvm::DenseSet<mlir::Value> values;
  /// The results of nodes that would round them, in the order of the nodes.
  /// The nodes of all others only move or select elements.
  llvm::SmallVector<mlir::Value> roundings;
  /// The number of 16-bit results of products in the graph.
  unsigned numProducts = 0;

  /// Analyzes a graph or function, bodies of control flow included. The last
  /// `numWatched` outputs of a graph are not readers: tools have added them.
  static ExcessPrecision find(mlir::Operation *scope, unsigned numWatched = 0);

  /// The roundings as texts.
  std::vector<DroppedRounding> describeRoundings() const;
};

/// The roundings that code for `module` drops if it may: those of the main
/// graph, and of functions that are specialized for one call. Names and order
/// are the same in every run. Code drops more where a call is inlined into its
/// caller, and where an operator (attention, recurrent cells) is expanded into
/// products.
std::vector<DroppedRounding> findDroppableRoundings(mlir::ModuleOp module);

/// Returns one line: "2 roundings are dropped: 'logits' of node 'fc' (Gemm-13)
/// to bf16, ..." with the first few names.
std::string listDroppedRoundings(llvm::ArrayRef<DroppedRounding> roundings);

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_EXCESSPRECISION_H
