//===- SubgraphInliner.h - Inlining of subgraphs ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_SUBGRAPHINLINER_H
#define MPOPT_GRAPH_SUBGRAPHINLINER_H

#include "mp-opt/Graph/NodeBuilder.h"

namespace mp {

/// Moves the nodes of a subgraph before the node that it belongs to. They take
/// over the uses of that node, and the caller must erase it. Results keep their
/// names. Types are those of the subgraph; the caller must infer the types that
/// follow from operands.
class SubgraphInliner {
public:
  SubgraphInliner(NodeBuilder &builder, mlir::ModuleOp module);

  /// Inlines a branch of an If. Nodes keep their names unless others have the
  /// same.
  void inlineBranch(mlir::Operation *node, mlir::Region &branch);
  /// Replaces a Loop by a copy of its body per iteration; nodes are called
  /// `<loop>/<iteration>/<node>`. Constants are moved, not copied. If there are
  /// no iterations, there must be no scan output.
  void unrollLoop(mlir::Operation *loop, int64_t iterations);

private:
  void moveOut(mlir::Operation *op, mlir::Operation *before);
  void makeUnique(mlir::Operation *op);
  void discountNames(mlir::Region &region);
  void replaceResults(mlir::Operation *node,
                      llvm::ArrayRef<mlir::Value> values);

  NodeBuilder &builder;
  /// Nodes that were moved out of the current node.
  llvm::DenseSet<mlir::Operation *> made;
  /// The number of nodes and values of the module with each name.
  llvm::StringMap<unsigned> nodeNames, valueNames;
};

} // namespace mp

#endif // MPOPT_GRAPH_SUBGRAPHINLINER_H
