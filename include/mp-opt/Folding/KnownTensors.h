//===- KnownTensors.h - Integers that a model computes ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models compute sizes, and values that depend on them, with nodes. If sizes
// are known, the results of such nodes can be computed. An element may be known
// although another one is not, as in the shape of a batch of unknown size. Only
// integers and booleans are tracked: floats may be weights.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FOLDING_KNOWNTENSORS_H
#define MPOPT_FOLDING_KNOWNTENSORS_H

#include "mp-opt/Dialect/ONNX/Nodes.h"

namespace mp {

/// A small tensor of integers or booleans, in row-major order; unknown elements
/// are absent.
struct KnownTensor {
  using Element = std::optional<int64_t>;

  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<Element> elements;

  /// True if every element is known.
  bool isComplete() const;
  /// The element, if there is only one and it is known.
  Element getSingle() const;
  /// The tensor as a constant of the element type; it must be complete.
  mlir::DenseElementsAttr toAttr(mlir::Type elementType) const;
};

/// The known elements of values. Nodes are visited in order.
class KnownTensors {
public:
  /// `outer` holds the known elements of values outside of a subgraph.
  explicit KnownTensors(const KnownTensors *outer = nullptr) : outer(outer) {}

  /// Computes the known elements of the results of `op` from those of its
  /// operands and from types.
  void visit(mlir::Operation *op);

  /// The known elements of `value`; null if none are known, or if it is not
  /// small.
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
