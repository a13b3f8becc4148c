//===- KnownTensors.h - Integers that a model computes ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models compute sizes, and what depends on them, by nodes. Where sizes are
// known, so is what such nodes yield; an element may be known beside one that
// is not, as in the shape of a batch of unknown size. Integers and booleans
// only: floats may be weights.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FOLDING_KNOWNTENSORS_H
#define MPOPT_FOLDING_KNOWNTENSORS_H

#include "mp-opt/Dialect/ONNX/Nodes.h"

namespace mp {

/// A small tensor of integers or booleans, in row-major order; elements that
/// are not known are absent.
struct KnownTensor {
  using Element = std::optional<int64_t>;

  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<Element> elements;

  /// True if every element is known.
  bool isComplete() const;
  /// The one element, if there is one only and it is known.
  Element getSingle() const;
  /// The tensor as a constant of the element type; it must be complete.
  mlir::DenseElementsAttr toAttr(mlir::Type elementType) const;
};

/// What is known of values. Nodes are visited in order.
class KnownTensors {
public:
  /// `outer` holds what is known of values outside of a subgraph.
  explicit KnownTensors(const KnownTensors *outer = nullptr) : outer(outer) {}

  /// Finds what is known of the results of `op`, from what is known of its
  /// operands and their types.
  void visit(mlir::Operation *op);

  /// What is known of `value`; null if nothing is, or if it is not small.
  const KnownTensor *lookup(mlir::Value value) const;
  void set(mlir::Value value, KnownTensor tensor) {
    tensors[value] = std::move(tensor);
  }
  /// Must be called before `op` is erased.
  void forget(mlir::Operation *op);

private:
  const KnownTensors *outer;
  llvm::DenseMap<mlir::Value, KnownTensor> tensors;
};

} // namespace mp

#endif // MPOPT_FOLDING_KNOWNTENSORS_H
