//===- Error.cpp - Errors with a kind -------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Model/Error.h"

#include "mp-opt/Execution/DeviceFailure.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mp {

namespace {
class DetailedError : public ErrorInfo<DetailedError> {
public:
  static char ID;

  explicit DetailedError(ErrorDetails details) : details(std::move(details)) {}

  void log(raw_ostream &os) const override { os << details.text; }
  std::error_code convertToErrorCode() const override {
    return inconvertibleErrorCode();
  }

  ErrorDetails details;
};
} // namespace

char DetailedError::ID = 0;

Error makeError(ErrorDetails details) {
  return llvm::make_error<DetailedError>(std::move(details));
}

ErrorDetails takeDetails(Error error) {
  ErrorDetails details;
  llvm::handleAllErrors(
      std::move(error),
      [&](const DetailedError &known) { details = known.details; },
      [&](const DeviceFailure &failure) {
        details.kind = ErrorKind::DeviceFailed;
        details.text = failure.message();
      },
      [&](const ErrorInfoBase &other) { details.text = other.message(); });
  return details;
}

Error addContext(const Twine &what, Error error) {
  ErrorDetails details = takeDetails(std::move(error));
  details.text = (what + ": " + details.text).str();
  return makeError(std::move(details));
}

} // namespace mp
