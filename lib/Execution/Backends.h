//===- Backends.h - The backends that exist ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EXECUTION_BACKENDS_H
#define MPOPT_LIB_EXECUTION_BACKENDS_H

#include "mp-opt/Execution/Backend.h"

namespace mp {

/// Runs object files in this process.
std::unique_ptr<Backend> createCPUBackend(const ModelInterface &interface,
                                          bool updateInPlace);
/// Runs a plan by CUDA's driver, or by the emulated one.
std::unique_ptr<Backend> createCUDABackend(const ModelInterface &interface);

} // namespace mp

#endif // MPOPT_LIB_EXECUTION_BACKENDS_H
