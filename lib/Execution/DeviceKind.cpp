//===- DeviceKind.cpp - Kinds of devices ----------------------------------===//
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

llvm::ArrayRef<llvm::StringRef> getFP32ProductsWords() {
  static constexpr llvm::StringRef words[] = {"ieee", "tf32"};
  return words;
}

std::optional<std::string> findMisfit(FP32Products products,
                                      DeviceKind device) {
  if (products == FP32Products::IEEE || device != DeviceKind::CPU)
    return std::nullopt;
  return "--fp32-products=tf32 needs --device=cuda or emulated: tensor cores "
         "multiply tf32, processors multiply fp32 as it is";
}

} // namespace mp
