//===- MessagePrinter.h - What a tool says of a model -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_MESSAGEPRINTER_H
#define MPOPT_TOOLS_SUPPORT_MESSAGEPRINTER_H

#include "Message.h"

#include <utility>

namespace mp {

/// Prints messages to standard error. Only the first error is printed: later
/// ones are its consequences and would hide it.
class MessagePrinter {
public:
  /// `name` is the name of the model.
  explicit MessagePrinter(llvm::StringRef name) : name(name) {}

  /// Returns false if the message is not printed.
  bool print(mlir::DiagnosticSeverity severity, const llvm::Twine &text) {
    bool isError = severity == mlir::DiagnosticSeverity::Error;
    if (isError && std::exchange(hasFailed, true))
      return false;
    printMessage(name, severity, text);
    return true;
  }
  /// Prints a diagnostic with its notes.
  void print(mlir::Diagnostic &diagnostic) {
    if (print(diagnostic.getSeverity(), diagnostic.str()))
      for (const mlir::Diagnostic &note : diagnostic.getNotes())
        print(note.getSeverity(), note.str());
  }

private:
  llvm::StringRef name;
  bool hasFailed = false;
};

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_MESSAGEPRINTER_H
