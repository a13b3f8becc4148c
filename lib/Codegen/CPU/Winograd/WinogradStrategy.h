//===- WinogradStrategy.h - What Winograd's transforms suit -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions of 3 x 3 taps at stride 1, gradients of their images, and
// gradients of such taps: whether they can be transformed, which `config` has
// to fit, and whether that pays.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_WINOGRAD_WINOGRADSTRATEGY_H
#define MPOPT_LIB_CODEGEN_CPU_WINOGRAD_WINOGRADSTRATEGY_H

#include "WindowAxes.h"

namespace mp::kernel {

constexpr int64_t numTaps = 3;

/// Whether errors of F(4 x 4) are lost in rounding: all is 16 bit.
bool isNarrow(ContractOp op, const ContractShape &shape);

/// The most pieces of an image's rows that a vector of tiles is made of; more
/// than emitters know where that is not known.
int64_t getNumRuns(const ContractShape &shape, const Windows &windows,
                   int64_t edge, int64_t lanes);

// With tiles of `edge` x `edge` results, and vectors of `lanes`.

bool canTransform(const ContractShape &shape, const Windows &windows,
                  int64_t edge, int64_t lanes);
bool canTransformWeights(const ContractShape &shape, const Windows &windows);

/// Transforms are done for each channel; what they save grows with channels.
bool paysToTransform(const ContractShape &shape, const Windows &windows,
                     int64_t edge);
bool paysToTransformWeights(const ContractShape &shape, int64_t edge);

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_WINOGRAD_WINOGRADSTRATEGY_H
