//===- Windows.h - Windows of contractions ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes how the loops of a contraction move along the axes of its operands,
// by its maps alone. Convolutions, and gradients of their images and weights,
// read one operand in windows: one loop counts pixels, another the positions in
// the filter.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_KERNEL_WINDOWS_H
#define MPOPT_DIALECT_KERNEL_WINDOWS_H

#include "mp-opt/Dialect/Kernel/Kernel.h"

namespace mp::kernel {

/// A loop that moves along an axis, by `step` elements in each iteration.
struct AxisLoop {
  unsigned dim;
  int64_t step;
};

/// An axis that is read at `stride * pixel + dilation * filter + offset`.
/// Convolutions and gradients of images have pixels as results and sum over
/// filter positions; gradients of weights have filter positions as results and
/// sum over pixels.
struct WindowAxis {
  /// The operand's axis.
  unsigned position = 0;
  /// The loop over pixels.
  unsigned pixel = 0;
  /// The loop over filter positions; absent if there is one position.
  std::optional<unsigned> filter;
  int64_t stride = 1, dilation = 0, offset = 0;
};

/// An axis of an operand, read at the sum of all `step * index` plus `offset`.
struct OperandAxis {
  unsigned position;
  /// The loops that the result has, and those that are summed.
  llvm::SmallVector<AxisLoop, 2> kept, summed;
  int64_t offset;

  bool isConstant() const { return kept.empty() && summed.empty(); }
  /// True if several loops move along the axis.
  bool isWindow() const { return kept.size() + summed.size() > 1; }
  auto getLoops() const { return llvm::concat<const AxisLoop>(kept, summed); }
  /// The loop whose index is the axis' index; absent if that is something else.
  std::optional<unsigned> getPlainLoop() const;
  /// Absent unless there are one loop over pixels, of the sum or of the result,
  /// and at most one of the others.
  std::optional<WindowAxis> getWindow(bool sumsPixels) const;
};

/// The axes of an operand. `maps` are those of a contraction, or of another op
/// with linear maps whose last one is the result's.
llvm::SmallVector<OperandAxis>
getOperandAxes(llvm::ArrayRef<mlir::AffineMap> maps, unsigned operand);

/// True if each result is along at most one dimension, maybe some of its
/// indices: `d`, `2 * d + 1`, a constant.
bool hasSingleDims(mlir::AffineMap map);

/// The axis that is `dim`, if there is one and no other result of `map` depends
/// on `dim`.
std::optional<unsigned> findPlainAxis(mlir::AffineMap map, unsigned dim);

} // namespace mp::kernel

#endif // MPOPT_DIALECT_KERNEL_WINDOWS_H
