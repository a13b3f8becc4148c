//===- NodeCopier.h - Copies of nodes under new names -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_NODECOPIER_H
#define MPOPT_GRAPH_NODECOPIER_H

#include "mp-opt/Graph/NodeBuilder.h"

#include "mlir/IR/IRMapping.h"

namespace mp {

/// Copies what a block holds to where a builder stands; nodes and values, those
/// of subgraphs too, are called `<prefix>/<name>`.
class NodeCopier {
public:
  NodeCopier(NodeBuilder &builder, llvm::StringRef prefix)
      : builder(builder), prefix(prefix) {}

  /// What the block's operations use and do not define; afterwards also the
  /// copies of what they define.
  mlir::IRMapping mapping;

  /// The copies of nodes, in order; what ends the block is not copied.
  llvm::SmallVector<mlir::Operation *> copy(mlir::Block &block);

private:
  void rename(mlir::Operation *op);
  llvm::StringRef getNewName(llvm::StringRef name);

  NodeBuilder &builder;
  std::string prefix;
  /// Names of values in the block, and what they are called in the copy.
  llvm::StringMap<llvm::StringRef> names;
};

} // namespace mp

#endif // MPOPT_GRAPH_NODECOPIER_H
