//===- DeviceModels.h - GPUs by their data sheets ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Peak rates and sizes of GPUs as stated by their makers. They allow estimates
// for GPUs that are not present.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_DEVICEMODELS_H
#define MPOPT_EXECUTION_DEVICEMODELS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace mp {

struct DeviceModel {
  /// The name in flags: "h200".
  llvm::StringLiteral name;
  /// The product that the data sheet describes.
  llvm::StringLiteral title;
  uint64_t memoryBytes;
  /// Bytes per second.
  double bandwidth;
  /// Operations per second, a multiply-add being two: of 16-bit factors by
  /// tensor cores, without sparsity and with sums in fp32; of fp32; of fp64.
  double tensorRate, floatRate, doubleRate;
};

/// The seconds that the driver takes to launch a graph, and those between a
/// kernel and one that depends on it. These are estimates, since data sheets do
/// not state them.
constexpr double graphSeconds = 2.5e-6, launchSeconds = 1e-6;

llvm::ArrayRef<DeviceModel> getDeviceModels();
/// Null if the name is unknown.
const DeviceModel *findDeviceModel(llvm::StringRef name);
/// "a100, h100 or h200".
std::string listDeviceModels();

} // namespace mp

#endif // MPOPT_EXECUTION_DEVICEMODELS_H
