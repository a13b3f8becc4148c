//===- Processors.h - The number of usable processors -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_PROCESSORS_H
#define MPOPT_LIB_RUNTIME_PROCESSORS_H

#include <cstdint>

namespace mp::runtime {

/// The number of processors that the calling thread may run on, limited by the
/// quotas of its control group and those above it; at least 1.
int32_t countProcessors();

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_PROCESSORS_H
