//===- TemporaryNames.h - Names of unfinished files -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_SUPPORT_TEMPORARYNAMES_H
#define MPOPT_LIB_SUPPORT_TEMPORARYNAMES_H

#include "mp-opt/Support/AtomicFile.h"

namespace mp {

/// Makes a name `.<base>.mp-opt-XXXXXXXX.tmp`, with as much of `base` as the
/// file system of `folder` allows.
std::string makeTemporaryName(llvm::StringRef base, int folder);

/// True if `name` is a temporary name for `base`.
bool isTemporaryName(llvm::StringRef name, llvm::StringRef base, int folder);

/// Removes files of `folder` with temporary names that no process has locked,
/// after calling `onLeftover`. Only files of the current user are removed,
/// since others may leave files with any content in a shared folder. Files that
/// cannot be removed stay.
void removeLeftovers(const Directory &folder, llvm::StringRef base,
                     AtomicFile::LeftoverFn onLeftover);

} // namespace mp

#endif // MPOPT_LIB_SUPPORT_TEMPORARYNAMES_H
