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

/// Copies the contents of a block to where a builder stands; nodes and values,
/// including those of subgraphs, are called `<prefix>/<name>`.
class NodeCopier {
public:
  NodeCopier(NodeBuilder &builder, llvm::StringRef prefix)
      : builder(builder), prefix(prefix) {}

  /// Replacements for the values that the block uses and does not define; after
  /// `copy`, also the copies of the values that it defines.
  mlir::IRMapping mapping;

  /// Copies nodes and returns the copies, in order; the terminator is not
  /// copied.
  llvm::SmallVector<mlir::Operation *> copy(mlir::Block &block);

private:
  void rename(mlir::Operation *op);
  llvm::StringRef getNewName(llvm::StringRef name);

  NodeBuilder &builder;
  std::string prefix;
  /// Names of values in the block, and their names in the copy.
  llvm::StringMap<llvm::StringRef> names;
};

} // namespace mp

#endif // MPOPT_GRAPH_NODECOPIER_H
