//===- CodeFlags.h - What the command line says of code ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_CODEFLAGS_H
#define MPOPT_TOOLS_CODEFLAGS_H

#include "FlagSet.h"

#include "mp-opt/API/CodeOutput.h"

namespace mp {

/// Prints what --help=code says.
void printCodeHelp();

struct CodeFlags {
  std::string kernels = "auto";

  /// The other flags set `options`.
  void addTo(FlagSet &flags, CodeOptions &options);
  /// Completes `options`. Fails where the flags contradict themselves or each
  /// other; `isCode` if they have anything to speak of.
  llvm::Error check(const FlagSet &flags, CodeOptions &options,
                    bool isCode) const;
};

} // namespace mp

#endif // MPOPT_TOOLS_CODEFLAGS_H
