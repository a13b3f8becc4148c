//===- Error.h - What goes wrong, and of what kind --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_ERROR_H
#define MPOPT_API_ERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mp {

/// What a caller does about an error depends on this, not on its text.
enum class ErrorKind {
  /// The options contradict themselves, or what they are for.
  Usage,
  /// A file cannot be read or written, a model is none, data do not fit it.
  BadInput,
  /// The model has what cannot be compiled.
  NotSupported,
  /// A device was lost or has failed while the model ran.
  DeviceFailed,
};

struct ErrorDetails {
  ErrorKind kind = ErrorKind::BadInput;
  std::string text;
  /// The text has been said before, in diagnostics.
  bool isReported = false;
  /// Of a run of several ranks: all of them have ended with it.
  bool isEverywhere = false;
};

llvm::Error makeError(ErrorDetails details);

/// The details of any error, which is used up; one that `makeError` has not
/// made is of bad input.
ErrorDetails takeDetails(llvm::Error error);

/// The same error, its text begun with `what` and a colon.
llvm::Error addContext(const llvm::Twine &what, llvm::Error error);

} // namespace mp

#endif // MPOPT_API_ERROR_H
