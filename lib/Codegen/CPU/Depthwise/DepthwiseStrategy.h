//===- DepthwiseStrategy.h - Convolutions of single channels ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions whose results are sums over windows of one channel, and the
// gradients of their images and weights: as products of matrices they have one
// row.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_DEPTHWISE_DEPTHWISESTRATEGY_H
#define MPOPT_LIB_CODEGEN_CPU_DEPTHWISE_DEPTHWISESTRATEGY_H

#include "mp-opt/Dialect/Kernel/ContractShape.h"

namespace mp::kernel {

/// An axis of the image that is read at
/// `stride * pixel + dilation * filter + constant`, where `pixel` is a
/// dimension of the result and `filter` a dimension that is summed, of the
/// weights. Gradients of weights have filter positions as results and are
/// summed over pixels.
struct SlidingAxis {
  unsigned pixel = 0;
  /// Absent if the filter has one position.
  std::optional<unsigned> filterDim;
  int64_t filterSize = 1;
  int64_t stride = 1, dilation = 0, constant = 0;
  /// The image's dimension.
  unsigned position = 0;

  /// The distance of a filter position from the first one in memory.
  int64_t getOffset(int64_t filterIndex) const {
    return dilation < 0 ? -dilation * (filterSize - 1 - filterIndex)
                        : dilation * filterIndex;
  }
  /// The begin of the window of result 0.
  int64_t getBegin() const {
    return constant + (dilation < 0 ? dilation * (filterSize - 1) : 0);
  }
  /// The distance from the first element of a window to its last.
  int64_t getReach() const {
    return getOffset(dilation < 0 ? 0 : filterSize - 1);
  }
};

struct SlidingWindows {
  /// The operand, a (0) or b (1). The other has the weights, or gradients of
  /// the pixels.
  unsigned image;
  /// True if results are filter positions, summed over pixels. Channels are
  /// last then.
  bool sumsPixels = false;
  std::optional<SlidingAxis> rows;
  /// The axis along memory, in the image and in the result, unless channels
  /// are.
  SlidingAxis columns;
  /// The dimension of channels if they are last.
  std::optional<unsigned> channels;
  /// The other dimensions that are like pixels, mainly images.
  llvm::SmallVector<unsigned> outer;

  int64_t getFilterRows() const { return rows ? rows->filterSize : 1; }
  int64_t getRowStride() const { return rows ? rows->stride : 1; }
};

/// Absent if the contraction is something else.
std::optional<SlidingWindows> findSlidingWindows(const ContractShape &shape);

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_DEPTHWISE_DEPTHWISESTRATEGY_H
