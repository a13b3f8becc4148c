//===- Host.h - Kernels for the processor this runs on ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_KERNELTOLOOPS_HOST_H
#define MPOPT_LIB_CONVERSION_KERNELTOLOOPS_HOST_H

#include "llvm/ADT/StringRef.h"

namespace mp::kernel {

/// getInstructionSet of this processor.
llvm::StringRef getHostISA();

/// The form that multiplies bf16 fastest: amx, dot or widen. Where the
/// processor has dot products, they are timed once; the result is kept in
/// `mp-opt/kernels` of the user's cache folder (XDG_CACHE_HOME, or ~/.cache),
/// so that all runs on a machine compute the same bits.
llvm::StringRef getHostForm();

} // namespace mp::kernel

#endif // MPOPT_LIB_CONVERSION_KERNELTOLOOPS_HOST_H
