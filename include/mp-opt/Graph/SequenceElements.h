//===- SequenceElements.h - The tensors of a sequence -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If nodes of the graph build a sequence tensor by tensor, these nodes
// determine the number of its elements, for any data.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_SEQUENCEELEMENTS_H
#define MPOPT_GRAPH_SEQUENCEELEMENTS_H

#include "mp-opt/Graph/NodeBuilder.h"

namespace mp {

class SequenceElements {
public:
  explicit SequenceElements(NodeBuilder &builder) : builder(builder) {}

  /// The elements of `sequence`; null if they are not known. A SplitToSequence
  /// whose parts have known sizes becomes a Split.
  const llvm::SmallVector<mlir::Value> *find(mlir::Value sequence);
  /// The element at `index`, inserted where the builder stands: a known
  /// element, or a slice of the tensor that SplitToSequence splits. Null if
  /// neither is available, or if `index` is known and there is no such element.
  mlir::Value take(mlir::Value sequence, mlir::Value index);
  /// All elements joined along one axis, like the result of the
  /// ConcatFromSequence `node`; null if they are not known.
  mlir::Value join(mlir::Operation *node);
  /// Erases unused nodes of sequences that `find` has followed.
  void eraseUnused();

private:
  using Elements = std::optional<llvm::SmallVector<mlir::Value>>;

  Elements makeFirst(mlir::Operation *node);
  Elements split(mlir::Operation *node);
  mlir::Value choose(llvm::ArrayRef<mlir::Value> elements, mlir::Value index);
  mlir::Value slice(mlir::Operation *split, mlir::Value index);

  NodeBuilder &builder;
  llvm::DenseMap<mlir::Value, Elements> known;
};

} // namespace mp

#endif // MPOPT_GRAPH_SEQUENCEELEMENTS_H
