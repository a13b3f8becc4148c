//===- WindowNodes.h - Sliding windows --------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Common code of convolutions and pools: windows of `kernel` cells, `dilation`
// apart, at every `stride`-th position of an image with pads around it.
// Attributes hold pads only if these are known; otherwise images are padded and
// cropped by computed sizes, with windows that have no pads.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_WINDOWNODES_H
#define MPOPT_LIB_AUTODIFF_WINDOWNODES_H

#include "Sizes.h"

#include "mp-opt/Operators/NodeView.h"

namespace mp {

/// Windows along one axis.
struct WindowAxis {
  int64_t stride = 1, dilation = 1;
  /// Cells of the image and of a window, and the number of windows.
  Size image, kernel, count;
  /// Pads of the image.
  Size begin, end;
};

using Windows = llvm::SmallVector<WindowAxis>;

/// The distance from the first cell of the first window to the end of the last
/// cell of the last one.
Size getExtent(SizeMath &math, const WindowAxis &axis);

/// Reads strides, dilations, pads and auto_pad of a convolution or pool (not of
/// a transposed convolution). Absent if the attributes do not fit the number
/// of axes.
std::optional<Windows> readWindows(NodeBuilder &b, const NodeView &node,
                                   llvm::ArrayRef<Size> image,
                                   llvm::ArrayRef<Size> kernel,
                                   llvm::ArrayRef<Size> count);
/// The same for a ConvTranspose: its result is the image.
std::optional<Windows> readTransposedWindows(NodeBuilder &b,
                                             const NodeView &node,
                                             llvm::ArrayRef<Size> image,
                                             llvm::ArrayRef<Size> kernel,
                                             llvm::ArrayRef<Size> count);

/// strides, dilations, pads and group as attributes; pads are omitted if they
/// are unknown.
llvm::SmallVector<mlir::NamedAttribute>
getAttributes(NodeBuilder &b, const Windows &windows, int64_t group);

/// The image (N x C x sizes) with the windows `values` (N x M x counts): each
/// value times `weight` (M x C/group x kernel), summed where windows overlap.
mlir::Value writeBackwardData(NodeBuilder &b, mlir::Value values,
                              mlir::Value weight, const Windows &windows,
                              int64_t group);
/// The products of windows of `image` with `weight`: a convolution.
mlir::Value writeForward(NodeBuilder &b, mlir::Value image, mlir::Value weight,
                         const Windows &windows, int64_t group);
/// The products of windows of `image` with `values`, summed over the batch and
/// the windows: M x C/group x kernel.
mlir::Value writeBackwardWeights(NodeBuilder &b, mlir::Value image,
                                 mlir::Value values, const Windows &windows,
                                 int64_t group);

} // namespace mp

#endif // MPOPT_LIB_AUTODIFF_WINDOWNODES_H
