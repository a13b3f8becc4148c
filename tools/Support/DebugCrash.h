//===- DebugCrash.h - Bugs on purpose ---------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --debug-crash-in=PLACE[:KIND], which tests use to see the effects of a bug.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_DEBUGCRASH_H
#define MPOPT_TOOLS_SUPPORT_DEBUGCRASH_H

#include "llvm/ADT/StringRef.h"

namespace mp {

/// True if `kind` is a kind of crash; no kind is a segmentation fault.
bool isCrashKind(llvm::StringRef kind);

/// Crashes; isCrashKind(kind) is true.
[[noreturn]] void crashOnPurpose(llvm::StringRef kind);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_DEBUGCRASH_H
