//===- Message.h - What programs say on standard error ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All messages have one form, "WHO: KIND: TEXT", and on a terminal one set of
// colours. WHO is the program or the file.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_MESSAGE_H
#define MPOPT_TOOLS_SUPPORT_MESSAGE_H

#include "mlir/IR/Diagnostics.h"

namespace mp {

/// True if standard error shows colours: NO_COLOR, CLICOLOR_FORCE and TERM=dumb
/// decide, otherwise whether it is a terminal.
bool showsColors();

/// Messages of LLVM's and MLIR's own get colours under the same conditions.
void setUpColors();

/// Prints "`who`: error: `text`", or warning, remark or note.
void printMessage(llvm::StringRef who, mlir::DiagnosticSeverity severity,
                  const llvm::Twine &text);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_MESSAGE_H
