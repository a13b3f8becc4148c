//===- SlidingWindows.h - Sliding windows -----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Windows of convolutions and pools: `kernel` cells, `dilation` apart, at every
// `stride`-th place of an image with pads around it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_SLIDINGWINDOWS_H
#define MPOPT_LIB_CONVERSION_SLIDINGWINDOWS_H

#include "NodeLowering.h"

namespace mp {

/// Along one spatial axis.
struct SlidingAxis {
  int64_t stride = 1, dilation = 1;
  /// The numbers of cells of the image and of a window.
  Size image, kernel;
  /// The pads before and after the image.
  Size begin, end;
  /// The number of windows; with `roundsUp`, the last may overhang.
  Size count;
  bool roundsUp = false;

  /// The number of cells from a window's first to its last one.
  Size getSpan(Emitter &e) const;
  /// The number of cells from the first one of the first window to the last one
  /// of the last window.
  Size getExtent(Emitter &e) const;
  /// True if all windows are known to lie in the image, without any pads.
  bool isInside(Emitter &e) const;
};

using SlidingWindows = llvm::SmallVector<SlidingAxis>;

/// Reads strides, dilations, pads and auto_pad, and counts the windows. With
/// `roundsUp` (ceil_mode), a window that begins in the image and ends after it
/// counts, too.
mlir::FailureOr<SlidingWindows> readSlidingWindows(NodeLowering &node,
                                                   llvm::ArrayRef<Size> image,
                                                   llvm::ArrayRef<Size> kernel,
                                                   bool roundsUp = false);

/// The same for a ConvTranspose, whose operand has a cell for each window
/// (`count`): the image is its result.
mlir::FailureOr<SlidingWindows>
readTransposedWindows(NodeLowering &node, llvm::ArrayRef<Size> count,
                      llvm::ArrayRef<Size> kernel);

/// One field for all axes.
Sizes collect(const SlidingWindows &windows, Size SlidingAxis::*field);
/// The same if all are constants.
std::optional<llvm::SmallVector<int64_t>>
collectConstants(const SlidingWindows &windows, Size SlidingAxis::*field);

/// Surrounds `image` (N x C x sizes) with cells of `value` (a compute value):
/// all windows lie inside, and begin at multiples of their strides.
TensorValue padForWindows(Emitter &e, TensorValue image,
                          const SlidingWindows &windows, mlir::Value value);

/// All elements of each window (`image` is padded) combined, in `init`'s type:
/// N x C x counts.
TensorValue reduceWindows(
    Emitter &e, TensorValue image, const SlidingWindows &windows,
    mlir::Value init,
    llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

/// Small windows' cells (of a padded image), a part of the image for each:
/// N x C x counts. None if the windows are big, or their size is not known.
llvm::SmallVector<TensorValue> sliceCells(Emitter &e, TensorValue image,
                                          const SlidingWindows &windows);

/// The position of the greatest cell of each window; of equal ones, the first.
/// Positions are indices into the whole of `image`; spatial axes count from the
/// last to the first if `isColumnMajor`. `padded` has the lowest value around
/// it, `greatest` is NaN for windows that have a NaN.
TensorValue findMaxIndices(Emitter &e, TensorValue image, TensorValue padded,
                           TensorValue greatest, const SlidingWindows &windows,
                           bool isColumnMajor);

/// The same positions for windows whose greatest cells are known: cell number
/// `numbers`, in row-major order, of the window; 0 for negative numbers.
TensorValue locateMaxima(Emitter &e, TensorValue image, TensorValue numbers,
                         const SlidingWindows &windows, bool isColumnMajor);

/// The map of a padded image, over the dimensions n, c, counts, kernel.
mlir::AffineMap getWindowMap(mlir::MLIRContext *context,
                             const SlidingWindows &windows);

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_SLIDINGWINDOWS_H
