//===- DimSymbols.h - Names of unknown sizes --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models name sizes that are unknown ("batch"), while types only say that they
// are unknown. This class propagates names of inputs and of described values
// through the nodes, by ONNX's own inference; sizes without a name get one. Two
// sizes of one name are the same in every run.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_DIMSYMBOLS_H
#define MPOPT_GRAPH_DIMSYMBOLS_H

#include "mp-opt/Target/ONNX/NodeTypes.h"

namespace mp {

class DimSymbols {
public:
  DimSymbols() = default;
  /// Names the sizes of all values that a graph's block defines now. Values are
  /// identified by their addresses: call `visit` or `forget` for later nodes.
  DimSymbols(mlir::Block &block, NodeTypes &types);

  /// Infers the types of the node's results and names their sizes.
  void visit(mlir::Operation *node, NodeTypes &types);
  /// Forgets all names of the node's results.
  void forget(mlir::Operation *node);

  /// Gives `value` the sizes of `like`, which is of the same rank.
  void copy(mlir::Value value, mlir::Value like);

  /// True if axis `axisOfA` of `a` and axis `axisOfB` of `b`, both of unknown
  /// size, have the same name and therefore the same size.
  bool areSame(mlir::Value a, int64_t axisOfA, mlir::Value b,
               int64_t axisOfB) const;

  /// The model's name for the size of an axis; empty if it has no name, or if
  /// the size is known.
  llvm::StringRef getName(mlir::Value value, int64_t axis) const;

private:
  void describe(mlir::ArrayAttr list);
  void add(mlir::Value value, llvm::ArrayRef<unsigned> inferred);

  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned>> symbols;
  /// The model's descriptions of values, by value name, and the numbers of size
  /// names.
  llvm::StringMap<llvm::SmallVector<unsigned>> described;
  llvm::StringMap<unsigned> numbers;
  unsigned last = 0;
};

} // namespace mp

#endif // MPOPT_GRAPH_DIMSYMBOLS_H
