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

/// A node whose result's sizes its type does not say.
struct ShapeQuestion {
  NodeView node;
  /// The number of the result.
  unsigned result;
  /// The sizes of an operand; absent where nobody knows them.
  llvm::function_ref<EstimatedShape(mlir::Value)> getShape;
  /// The integers that the model computes, sizes among them.
  const KnownTensors &known;
};

/// The sizes of the result; absent where they do not follow from sizes and
/// integers that are known.
EstimatedShape estimateShape(const ShapeQuestion &question);

} // namespace mp

#endif // MPOPT_FOLDING_SHAPEFOLDS_H
