//===- WindowNodes.h - Convolutions and what they share ----------*- C++
//-*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What convolutions and pools share: windows of `kernel` cells, `dilation`
// apart, at every `stride`-th place of an image with pads around it. Attributes
// hold pads only where these are known; elsewhere images are padded and cropped
// by computed sizes, around windows without pads.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_WINDOWNODES_H
#define MPOPT_LIB_AUTODIFF_WINDOWNODES_H

#include "Sizes.h"

#include "mp-opt/Operators/NodeView.h"

namespace mp {

/// Along one axis.
struct WindowAxis {
  int64_t stride = 1, dilation = 1;
  /// Cells of the image and of a window, and how many windows there are.
  Size image, kernel, count;
  /// Pads of the image.
  Size begin, end;
};

using Windows = llvm::SmallVector<WindowAxis>;

/// From the first cell of the first window to behind the last of the last one.
Size getExtent(SizeMath &math, const WindowAxis &axis);

/// Reads strides, dilations, pads and auto_pad of a convolution or pool (not of
/// a transposed convolution). Absent if the attributes do not fit the number
/// of axes.
std::optional<Windows> readWindows(NodeBuilder &b, const NodeView &node,
                                   llvm::ArrayRef<Size> image,
                                   llvm::ArrayRef<Size> kernel,
                                   llvm::ArrayRef<Size> count);
/// The same of a ConvTranspose: its result is the image.
std::optional<Windows> readTransposedWindows(NodeBuilder &b,
                                             const NodeView &node,
                                             llvm::ArrayRef<Size> image,
                                             llvm::ArrayRef<Size> kernel,
                                             llvm::ArrayRef<Size> count);

/// strides, dilations, pads and group as attributes; pads are left out where
/// they are not known.
llvm::SmallVector<mlir::NamedAttribute>
getAttributes(NodeBuilder &b, const Windows &windows, int64_t group);

/// The image (N x C x sizes) whose windows `values` (N x M x counts) stand for:
/// each times `weight` (M x C/group x kernel), added where windows overlap.
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
