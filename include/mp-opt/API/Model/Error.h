//===- Error.h - Errors with a kind -----------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODEL_ERROR_H
#define MPOPT_API_MODEL_ERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mp {

/// The kind of an error, by which callers decide how to handle it. They must
/// not depend on its text.
enum class ErrorKind {
  /// The options contradict each other or do not fit the model.
  Usage,
  /// A file cannot be read or written, is not a model, or data do not fit the
  /// model.
  BadInput,
  /// The model contains something that cannot be compiled.
  NotSupported,
  /// A device was lost or has failed while the model ran.
  DeviceFailed,
};

struct ErrorDetails {
  ErrorKind kind = ErrorKind::BadInput;
  std::string text;
  /// The text has already been reported by diagnostics.
  bool isReported = false;
  /// All ranks of a run have ended with this error.
  bool isEverywhere = false;
};

llvm::Error makeError(ErrorDetails details);

/// The details of any error, which is consumed. An error that was not made by
/// `makeError` is of kind BadInput.
ErrorDetails takeDetails(llvm::Error error);

/// The same error with the prefix `what` and a colon.
llvm::Error addContext(const llvm::Twine &what, llvm::Error error);

} // namespace mp

#endif // MPOPT_API_MODEL_ERROR_H
