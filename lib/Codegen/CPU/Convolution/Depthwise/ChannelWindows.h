//===- ChannelWindows.h - Windows whose channels are last -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_DEPTHWISE_CHANNELWINDOWS_H
#define MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_DEPTHWISE_CHANNELWINDOWS_H

#include "Depthwise.h"

namespace mp::kernel {

/// Goes through the pixels of images whose channels are last, in blocks of
/// `mr` pixels of a row, and reads vectors of channels where they are. Rows of
/// filter rows outside of the image are left out; columns outside, and channels
/// that do not fill a vector, are masked.
class ChannelWindows {
public:
  ChannelWindows(LoopBuilder &e, Contraction &contraction,
                 const DepthwiseWindows &windows);

protected:
  using Value = mlir::Value;

  /// Channels from `first` on, of a block.
  struct Channels {
    Value vector, first;
    /// Null if all lanes are there.
    Value mask;
  };
  /// Emits code for a vector of channels of a block. `present` are conditions
  /// of the columns that the block reads; it is empty if all of these exist,
  /// and all pixels, too.
  using BlockFn = llvm::function_ref<void(const Channels &channels,
                                          llvm::ArrayRef<Value> present)>;

  const DepthwiseAxis &columns() const { return windows.columns; }
  unsigned channelDim() const { return *windows.channels; }
  int64_t getFilterArea() const {
    return columns().filterSize * windows.getFilterRows();
  }
  /// The distance from the first column that a block reads to the last.
  int64_t getReach() const {
    return (config.getMr() - 1) * columns().stride + columns().getReach();
  }

  void moveToImage(Value number);
  void moveToRow(Value row);
  /// Emits all blocks of the row, and vectors of channels from `begin` on.
  void emitBlocks(Value begin, Value end, BlockFn body);
  /// The offset of a filter row's row of the image, from the block's first
  /// column on.
  Value getLine(Value filterRow);
  /// Reads a column of the block as f32, from the line of its channels on.
  Value readImage(Value line, int64_t column, const Channels &channels,
                  llvm::ArrayRef<Value> present);

  LoopBuilder &e;
  Contraction &contraction;
  ConfigAttr config;
  const DepthwiseWindows &windows;
  const View &image;
  int64_t lanes;
  Value numImages, numRows, numColumns, numChannels, vectors;
  /// The current block: indices of the contraction's dimensions, and the rows
  /// of the filter that are in the image.
  llvm::SmallVector<Value> indices;
  Value firstFilterRow, endFilterRow;

private:
  Value getImageSize(unsigned position);
  void findFilterRows(Value row);
  void emitBlock(Value column, Value begin, Value end, BlockFn body);

  llvm::SmallVector<Value> outerSizes;
  Value wholeVectors;
  /// The distance of neighbours along an axis of the image, in elements.
  Value rowPitch, columnPitch;
  /// The offset of the block's first window.
  Value place;
};

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_DEPTHWISE_CHANNELWINDOWS_H
