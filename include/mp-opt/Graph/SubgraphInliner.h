//===- SubgraphInliner.h - Subgraphs in place of their nodes ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_SUBGRAPHINLINER_H
#define MPOPT_GRAPH_SUBGRAPHINLINER_H

#include "mp-opt/Graph/NodeBuilder.h"

namespace mp {

/// Puts what a subgraph computes in front of the node that it belongs to, whose
/// uses it takes over; the node is left for the caller to erase. Results keep
/// the names that they had. Types are those that subgraphs had: what follows
/// from operands is for the caller to infer.
class SubgraphInliner {
public:
  SubgraphInliner(NodeBuilder &builder, mlir::ModuleOp module);

  /// The nodes of a branch of an If. They keep their names unless others have
  /// the same.
  void inlineBranch(mlir::Operation *node, mlir::Region &branch);
  /// A copy of the body of a Loop for each of its iterations, called
  /// `<loop>/<iteration>/<node>`. Constants are moved, not copied. Without an
  /// iteration there must not be a scan output.
  void unrollLoop(mlir::Operation *loop, int64_t iterations);

private:
  void moveOut(mlir::Operation *op, mlir::Operation *before);
  void makeUnique(mlir::Operation *op);
  void discountNames(mlir::Region &region);
  void replaceResults(mlir::Operation *node,
                      llvm::ArrayRef<mlir::Value> values);

  NodeBuilder &builder;
  /// What came out of the node at hand.
  llvm::DenseSet<mlir::Operation *> made;
  /// How many nodes and values of the module bear each name.
  llvm::StringMap<unsigned> nodeNames, valueNames;
};

} // namespace mp

#endif // MPOPT_GRAPH_SUBGRAPHINLINER_H
