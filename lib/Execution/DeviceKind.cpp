//===- DeviceKind.cpp - Where models run ----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/DeviceKind.h"

namespace mp {

llvm::ArrayRef<llvm::StringRef> getDeviceWords() {
  static constexpr llvm::StringRef words[] = {"cpu", "cuda", "emulated"};
  return words;
}

llvm::StringRef stringifyDevice(DeviceKind kind) {
  return getDeviceWords()[unsigned(kind)];
}

} // namespace mp
