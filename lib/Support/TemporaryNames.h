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

/// A new `.<base>.mp-opt-XXXXXXXX.tmp`, with as much of `base` as the file
/// system of `folder` can hold.
std::string makeTemporaryName(llvm::StringRef base, int folder);

/// Whether `name` is one of these for `base`.
bool isTemporaryName(llvm::StringRef name, llvm::StringRef base, int folder);

/// Removes files of `folder` with such names that nobody has locked, after
/// `onLeftover` has seen them. Only the user's own: in a folder of many users
/// anyone may leave anything. What cannot be removed stays.
void removeLeftovers(const Directory &folder, llvm::StringRef base,
                     AtomicFile::LeftoverFn onLeftover);

} // namespace mp

#endif // MPOPT_LIB_SUPPORT_TEMPORARYNAMES_H
