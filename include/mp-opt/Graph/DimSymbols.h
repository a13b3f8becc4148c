//===- DimSymbols.h - Which unknown sizes are the same ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models name sizes that they leave open ("batch"); types only say that they
// are unknown. Names of inputs and of described values go through the nodes
// here, by ONNX's own inference, and sizes without a name get one: two sizes of
// one name are the same in every run.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_DIMSYMBOLS_H
#define MPOPT_GRAPH_DIMSYMBOLS_H

#include "mp-opt/Target/ONNX/NodeTypes.h"

namespace mp {

class DimSymbols {
public:
  DimSymbols() = default;
  /// Of the values that a graph's block defines now. Values are told apart by
  /// their addresses: of nodes that come later, tell it all.
  DimSymbols(mlir::Block &block, NodeTypes &types);

  /// Infers the types of the node's results and names their sizes.
  void visit(mlir::Operation *node, NodeTypes &types);
  /// Nothing is known about the node's results.
  void forget(mlir::Operation *node);

  /// The sizes of `value` are those of `like`, which is of the same rank.
  void copy(mlir::Value value, mlir::Value like);

  /// True if axis `axisOfA` of `a` is known to be as long as axis `axisOfB` of
  /// `b`, for what they are called; both sizes are unknown.
  bool areSame(mlir::Value a, int64_t axisOfA, mlir::Value b,
               int64_t axisOfB) const;

  /// What the model calls the size of an axis; empty where it says no name, or
  /// where the size is known.
  llvm::StringRef getName(mlir::Value value, int64_t axis) const;

private:
  void describe(mlir::ArrayAttr list);
  void add(mlir::Value value, llvm::ArrayRef<unsigned> inferred);

  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned>> symbols;
  /// What the graph says of values, by their names, and the names in numbers.
  llvm::StringMap<llvm::SmallVector<unsigned>> described;
  llvm::StringMap<unsigned> numbers;
  unsigned last = 0;
};

} // namespace mp

#endif // MPOPT_GRAPH_DIMSYMBOLS_H
