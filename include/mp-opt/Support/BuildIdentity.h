//===- BuildIdentity.h - Identifies the build of this program ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_BUILDIDENTITY_H
#define MPOPT_SUPPORT_BUILDIDENTITY_H

#include "llvm/ADT/StringRef.h"

namespace mp {

/// 32 bytes that identify the code of this process: the build ids of the
/// program and its libraries (GNU's notes, which linkers derive from their
/// output), or the content of files without one. Empty if one of these cannot
/// be read.
llvm::StringRef getBuildIdentity();

} // namespace mp

#endif // MPOPT_SUPPORT_BUILDIDENTITY_H
