//===- Winograd.h - Convolutions by fewer products --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_WINOGRAD_WINOGRAD_H
#define MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_WINOGRAD_WINOGRAD_H

#include "../../Contract/LoopBuilder.h"

#include "mp-opt/Dialect/Kernel/Kernel.h"

namespace mp::kernel {

/// Emits the loops of `op`, a convolution of 3 x 3 filters at stride 1 or the
/// gradient of its image (WinogradStrategy.h), at the insertion point of `e`.
void emitWinograd(LoopBuilder &e, ContractOp op);

/// The same for gradients of such weights: WinogradWeights.cpp.
void emitWinogradWeights(LoopBuilder &e, ContractOp op);

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_WINOGRAD_WINOGRAD_H
