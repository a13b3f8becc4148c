//===- ShapeFolds.h - Sizes of results from sizes of operands ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FOLDING_SHAPEFOLDS_H
#define MPOPT_FOLDING_SHAPEFOLDS_H

#include "mp-opt/Folding/KnownTensors.h"
#include "mp-opt/Operators/NodeView.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mp {

using EstimatedShape = std::optional<llvm::SmallVector<int64_t>>;

/// A node with a result whose sizes do not follow from its type.
struct ShapeQuestion {
  NodeView node;
  /// The index of the result.
  unsigned result;
  /// Returns the sizes of an operand; absent if they are unknown.
  llvm::function_ref<EstimatedShape(mlir::Value)> getShape;
  /// Known integers of the model, including sizes.
  const KnownTensors &known;
};

/// The sizes of the result; absent if they do not follow from known sizes and
/// integers.
EstimatedShape estimateShape(const ShapeQuestion &question);

} // namespace mp

#endif // MPOPT_FOLDING_SHAPEFOLDS_H
