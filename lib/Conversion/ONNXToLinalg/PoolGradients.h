//===- PoolGradients.h - Gradients of maxima gather -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a MaxPool in standard operators is a ScatterElements, which
// adds each window's gradient to the cell that the pool's second result names.
// For devices, each cell instead gathers from the few windows that cover it,
// and a number of 8 bits, the cell's place in the window, is kept for a window.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_POOLGRADIENTS_H
#define MPOPT_LIB_CONVERSION_POOLGRADIENTS_H

#include "SlidingWindows.h"

namespace mp {

/// The places of the greatest cells in their windows: N x C x counts of int8,
/// the first of equal cells, in row-major order; -1 for windows of pads only.
struct WindowMaxima {
  TensorValue numbers;
  SlidingWindows windows;
  /// The sizes of the image, with batch and channels.
  Sizes image;
};

/// The maxima of pools by their second result, the positions of cells.
using MaximaTable = llvm::DenseMap<mlir::Value, WindowMaxima>;

/// True if the windows can be walked from their cells: known sizes, no
/// dilation, few cells in a window, and few windows around a cell.
bool canGather(const SlidingWindows &windows);

/// The greatest elements of windows of `image`, which need not be padded.
TensorValue takeMaxima(Emitter &e, TensorValue image,
                       const SlidingWindows &windows, mlir::Value lowest);
TensorValue numberMaxima(Emitter &e, TensorValue image,
                         const SlidingWindows &windows);

/// The MaxPool result of positions from which `scatter`, a ScatterElements that
/// adds to zeros, takes its indices; null if it has another form.
mlir::Value findPoolOfScatter(mlir::Operation *scatter);
/// True if some ScatterElements has that form, with `positions`.
bool isScatteredTo(mlir::Value positions);
/// The result of the ScatterElements `node`, if it adds up gradients of maxima
/// that are known; a null value otherwise.
TensorValue gatherGradients(NodeLowering &node);

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_POOLGRADIENTS_H
