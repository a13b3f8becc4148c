//===- HostTarget.h - The processor that this runs on -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For those who start the compiler; no pass looks at the machine.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_HOST_HOSTTARGET_H
#define MPOPT_CODEGEN_HOST_HOSTTARGET_H

#include "mp-opt/Codegen/Target/Target.h"

namespace mp {

/// This processor, and where `choice` leaves it open, what multiplies bf16
/// fastest on it: amx, dot or widen. Where the processor has dot products, they
/// are timed once; the result is kept in `mp-opt/kernels` of the user's cache
/// folder (XDG_CACHE_HOME, or ~/.cache), so that all runs on a machine compute
/// the same bits. Fails where the processor lacks what is chosen, and on
/// architectures without code of ours.
llvm::Expected<Target> getHostTarget(const KernelChoice &choice = {});

} // namespace mp

#endif // MPOPT_CODEGEN_HOST_HOSTTARGET_H
