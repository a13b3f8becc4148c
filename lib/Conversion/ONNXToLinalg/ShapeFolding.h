//===- ShapeFolding.h - Shapes are computed while compiling ------*- C++
//-*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Common functions of the folds in ShapeFolding.cpp and ShapeMovement.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_SHAPEFOLDING_H
#define MPOPT_LIB_CONVERSION_SHAPEFOLDING_H

#include "NodeLowering.h"

namespace mp {

/// Absent if an operand is not known, or if the rules should refuse the node.
using Ints = std::optional<ShapeValue>;
/// Computes a node's results from known integers.
using FoldFn = Ints (*)(NodeLowering &);

/// The number of elements; absent if it exceeds `maxShapeElements` or the shape
/// is invalid.
std::optional<int64_t> countKnown(llvm::ArrayRef<int64_t> shape);

/// `axis` in [0, rank); absent if it is not.
std::optional<int64_t> normalizeAxis(int64_t axis, int64_t rank);

/// The axes of the attribute `axes`, or of operand `operand` in newer opsets,
/// wrapped and sorted. Empty if they are not given; absent if they are not
/// constant.
std::optional<llvm::SmallVector<int64_t>>
getKnownAxes(NodeLowering &node, unsigned operand, int64_t rank);

/// Calls `fn` with the indices of each element of `shape`, row-major, until it
/// returns false.
bool forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<bool(llvm::ArrayRef<int64_t>)> fn);

/// The place of the element at `indices` in a tensor of `shape`, as numpy
/// broadcasts it: axes are counted from the last one, those of one are at 0.
int64_t getPlace(llvm::ArrayRef<int64_t> indices,
                 llvm::ArrayRef<int64_t> shape);

/// The shape of the operands when broadcast together.
std::optional<llvm::SmallVector<int64_t>>
broadcastKnown(llvm::ArrayRef<const ShapeValue *> operands);

/// Floats in which sizes are computed.
bool isKnownFloat(mlir::Type element);
/// True if operand 0 or result 0 has such a type, which `foldKnownFloats`
/// needs.
bool foldsFloats(NodeLowering &node);
Ints foldKnownFloats(NodeLowering &node);

/// The fold of an operator that moves data, or null.
FoldFn findShapeMovement(llvm::StringRef op);
/// Folds Split, which has several results. False if they are not known.
bool foldKnownSplit(NodeLowering &node);

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_SHAPEFOLDING_H
