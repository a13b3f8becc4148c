//===- DeviceFailure.h - A device that fails --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_DEVICEFAILURE_H
#define MPOPT_EXECUTION_DEVICEFAILURE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mp {

/// An error of the device or its driver in a call: the device was lost, or the
/// driver refused something that it accepted before. Neither the model nor its
/// data are the cause.
class DeviceFailure : public llvm::ErrorInfo<DeviceFailure> {
public:
  static char ID;

  explicit DeviceFailure(llvm::StringRef text) : text(text) {}

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string text;
};

} // namespace mp

#endif // MPOPT_EXECUTION_DEVICEFAILURE_H
