//===- DataRun.h - What must hold for data files ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FUZZ_DATARUN_H
#define MPOPT_FUZZ_DATARUN_H

#include "Harness.h"

namespace mp::fuzz {

/// Reads `bytes` as the data file that `reader` says; true if that succeeded.
/// A refusal has a reason, what was read can be written, and what was written
/// is read as the same tensors.
bool runData(llvm::StringRef bytes, Reader reader);

} // namespace mp::fuzz

#endif // MPOPT_FUZZ_DATARUN_H
