//===- Processors.h - How many there are for this process -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_PROCESSORS_H
#define MPOPT_LIB_RUNTIME_PROCESSORS_H

#include <cstdint>

namespace mp::runtime {

/// Processors that the calling thread may run on, and not more than the quota
/// of its control group, and of those above it, amounts to; at least 1.
int32_t countProcessors();

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_PROCESSORS_H
