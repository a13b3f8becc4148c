//===- HostTarget.h - The processor that this runs on -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only callers of the compiler use it; no pass looks at the machine.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_HOST_HOSTTARGET_H
#define MPOPT_CODEGEN_HOST_HOSTTARGET_H

#include "mp-opt/Codegen/Target/Target.h"

namespace mp {

/// This processor, and if `choice` leaves it open, the fastest way to multiply
/// bf16 on it: amx, dot or widen. If the processor has dot products, they are
/// timed once; the result is kept in `mp-opt/kernels` of the user's cache
/// folder (XDG_CACHE_HOME, or ~/.cache): all runs on a machine compute the same
/// bits. Fails if the processor lacks the choice, and on architectures that are
/// not supported.
llvm::Expected<Target> getHostTarget(const KernelChoice &choice = {});

} // namespace mp

#endif // MPOPT_CODEGEN_HOST_HOSTTARGET_H
