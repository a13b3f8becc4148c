//===- Winograd.h - Convolutions by fewer products --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_KERNELTOLOOPS_WINOGRAD_H
#define MPOPT_LIB_CONVERSION_KERNELTOLOOPS_WINOGRAD_H

#include "mp-opt/Conversion/KernelToLoops.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "Emitter.h"

namespace mp::kernel {

/// Emits the loops of `op`, where `e` stands, if it is a convolution of 3 x 3
/// taps at stride 1 (or the gradient of its image) whose products are in f32
/// and for which the transforms take less time than they save; else false.
bool emitWinograd(Emitter &e, ContractOp op, const KernelTarget &target);

/// The same for gradients of such weights: WinogradWeights.cpp.
bool emitWinogradWeights(Emitter &e, ContractOp op, const KernelTarget &target);

} // namespace mp::kernel

#endif // MPOPT_LIB_CONVERSION_KERNELTOLOOPS_WINOGRAD_H
