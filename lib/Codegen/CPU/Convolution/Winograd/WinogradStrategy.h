//===- WinogradStrategy.h - Uses of Winograd's transforms -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions of 3 x 3 filters at stride 1, gradients of their images, and
// gradients of such filters: tests if they can be transformed, which `config`
// has to fit, and if that pays.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_WINOGRAD_WINOGRADSTRATEGY_H
#define MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_WINOGRAD_WINOGRADSTRATEGY_H

#include "mp-opt/Dialect/Kernel/ContractShape.h"
#include "mp-opt/Dialect/Kernel/Windows.h"

#include <array>

namespace mp::kernel {

constexpr int64_t winogradFilterSize = 3;

/// An image, operand a (0) or b (1), and its two axes that are read in windows
/// at stride 1, in order. The dilation is 1, or -1 if filters are mirrored.
struct ImageWindows {
  unsigned image;
  std::array<WindowAxis, 2> axes;
};

/// Absent if no operand has two such axes, or if one has any others.
/// `sumsPixels` is true for gradients of filters.
std::optional<ImageWindows> findWindows(const ContractShape &shape,
                                        bool sumsPixels);

/// True if errors of F(4 x 4) are lost in rounding: factors have 16 bits, and
/// so have results, unless their rounding was dropped.
bool isNarrow(ContractOp op, const ContractShape &shape);

/// The most pieces of an image's rows that make a vector of tiles; more than
/// emitters support if it is not known.
int64_t getNumRuns(const ContractShape &shape, const ImageWindows &windows,
                   int64_t edge, int64_t lanes);

// The parameters are tiles of `edge` x `edge` results, and vectors of `lanes`.

bool canTransform(const ContractShape &shape, const ImageWindows &windows,
                  int64_t edge, int64_t lanes);
bool canTransformWeights(const ContractShape &shape,
                         const ImageWindows &windows);

/// Transforms are done for each channel; the savings grow with channels.
bool paysToTransform(const ContractShape &shape, const ImageWindows &windows,
                     int64_t edge);
bool paysToTransformWeights(const ContractShape &shape, int64_t edge);

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_WINOGRAD_WINOGRADSTRATEGY_H
