//===- Options.h - The command line of mp-opt -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_OPTIONS_H
#define MPOPT_TOOLS_OPTIONS_H

#include "ExitCodes.h"
#include "Flags.h"
#include "RunWatch.h"

#include "mp-opt/Options/ConvertOptions.h"

#include "mlir/IR/DialectRegistry.h"

#include <optional>

namespace mp {

/// The parsed command line.
struct Options : ConvertOptions {
  /// The values of --debug-crash-in and --debug-write-step.
  WatchOptions watch;

  /// Parses the arguments, including MLIR's. Returns an exit code if the run is
  /// over: help was printed or the usage is wrong.
  std::optional<int> parse(llvm::ArrayRef<const char *> arguments,
                           mlir::DialectRegistry &registry);

private:
  std::optional<int> parseWord(const Flags &flags,
                               llvm::ArrayRef<const char *> arguments) const;
  std::optional<int> parseArguments(Flags &flags,
                                    llvm::ArrayRef<const char *> arguments,
                                    mlir::DialectRegistry &registry);
  llvm::Error checkInput() const;
};

} // namespace mp

#endif // MPOPT_TOOLS_OPTIONS_H
