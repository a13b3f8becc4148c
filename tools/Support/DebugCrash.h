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

enum class CrashKind {
  Segv,
  Bus,
  Fpe,
  Ill,
  Abort,
  Terminate,
  Fatal,
  Stack,
  Memory
};

[[noreturn]] void crashOnPurpose(CrashKind kind);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_DEBUGCRASH_H
