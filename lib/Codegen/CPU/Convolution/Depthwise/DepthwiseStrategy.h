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

#ifndef MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_DEPTHWISE_DEPTHWISESTRATEGY_H
#define MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_DEPTHWISE_DEPTHWISESTRATEGY_H

#include "mp-opt/Dialect/Kernel/ContractShape.h"
#include "mp-opt/Dialect/Kernel/Windows.h"

namespace mp::kernel {

/// An axis of the image that is read in windows of a known size.
struct DepthwiseAxis : WindowAxis {
  int64_t filterSize = 1;

  /// The distance of a filter position from the first one in memory.
  int64_t getOffset(int64_t filterIndex) const {
    return dilation < 0 ? -dilation * (filterSize - 1 - filterIndex)
                        : dilation * filterIndex;
  }
  /// The begin of the window of result 0.
  int64_t getBegin() const {
    return offset + (dilation < 0 ? dilation * (filterSize - 1) : 0);
  }
  /// The distance from the first element of a window to its last.
  int64_t getReach() const {
    return getOffset(dilation < 0 ? 0 : filterSize - 1);
  }
};

struct DepthwiseWindows {
  /// The operand, a (0) or b (1). The other has the weights, or gradients of
  /// the pixels.
  unsigned image;
  /// True if results are filter positions, summed over pixels. Channels are
  /// last then.
  bool sumsPixels = false;
  std::optional<DepthwiseAxis> rows;
  /// The axis along memory, in the image and in the result, unless channels
  /// are.
  DepthwiseAxis columns;
  /// The dimension of channels if they are last.
  std::optional<unsigned> channels;
  /// The other dimensions that are like pixels, mainly images.
  llvm::SmallVector<unsigned> outer;

  int64_t getFilterRows() const { return rows ? rows->filterSize : 1; }
  int64_t getRowStride() const { return rows ? rows->stride : 1; }
};

/// Absent if the contraction is something else.
std::optional<DepthwiseWindows>
findDepthwiseWindows(const ContractShape &shape);

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_DEPTHWISE_DEPTHWISESTRATEGY_H
