//===- Depthwise.h - Loops of convolutions of single channels ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_DEPTHWISE_DEPTHWISE_H
#define MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_DEPTHWISE_DEPTHWISE_H

#include "../../Contract/Contraction.h"
#include "DepthwiseStrategy.h"

namespace mp::kernel {

/// Emits the loops of `op`, whose windows slide (DepthwiseStrategy.h), at the
/// insertion point of `e`.
void emitDepthwise(LoopBuilder &e, ContractOp op);

/// Emits the loops if channels are last in memory (ChannelsLast.cpp).
void emitChannelsLast(LoopBuilder &e, Contraction &contraction,
                      const DepthwiseWindows &windows);

/// Emits sums over the pixels of such images, for each filter position
/// (WindowSums.cpp).
void emitWindowSums(LoopBuilder &e, Contraction &contraction,
                    const DepthwiseWindows &windows);

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_DEPTHWISE_DEPTHWISE_H
