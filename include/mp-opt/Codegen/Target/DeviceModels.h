//===- DeviceModels.h - Peak rates of GPUs ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_TARGET_DEVICEMODELS_H
#define MPOPT_CODEGEN_TARGET_DEVICEMODELS_H

#include "llvm/Support/Error.h"

#include <string>

namespace mp {

/// The peak rates of a product.
struct DeviceModel {
  /// The name in flags: "h200".
  std::string name;
  /// The product that the data sheet describes.
  std::string title;
  uint64_t memoryBytes;
  /// Bytes per second of its memory, and of its link to the host (PCIe) in one
  /// direction.
  double bandwidth, linkRate;
  /// Operations per second, a multiply-add being two: of 16-bit factors by
  /// tensor cores, without sparsity and with sums in fp32; of fp32; of fp64.
  double tensorRate, floatRate, doubleRate;
  /// The chip that its kernels are compiled for, its multiprocessors, and its
  /// L2 cache in bytes.
  std::string chip;
  unsigned numProcessors;
  uint64_t cacheBytes;
  /// The highest clock of its multiprocessors, in Hz.
  double clock;
  /// Threads and blocks that a multiprocessor has room for, and its shared
  /// memory for blocks in bytes.
  unsigned maxThreads, maxBlocks, sharedBytes;
  /// A sentence if it stands for another device; else empty.
  std::string note = "";

  /// 10 * major + minor of its compute capability.
  unsigned getCapability() const;
};

/// The seconds that the driver takes to launch a graph, and those between a
/// kernel and one that depends on it. These are estimates, since data sheets do
/// not state them.
constexpr double graphSeconds = 2.5e-6, launchSeconds = 1e-6;

/// Null if the table has no such name.
const DeviceModel *findDeviceModel(llvm::StringRef name);
/// "a10, a100, ... or rtx5090".
std::string listDeviceModels();

/// The device of this name. For another name of which the compute capability is
/// known (sm_86; a product as drivers and shops call it, such as "RTX 4080" or
/// "NVIDIA H100 PCIe"), the nearest of the same major version, with a note.
/// Fails with "expected ..., got 'NAME'" for all others.
llvm::Expected<DeviceModel> chooseDeviceModel(llvm::StringRef name);

/// Properties of a device that its driver says; 0 for those that it does not.
struct PresentDevice {
  std::string title;
  /// 10 * major + minor.
  unsigned capability = 0;
  uint64_t memoryBytes = 0, cacheBytes = 0;
  double bandwidth = 0, clock = 0;
  unsigned numProcessors = 0, maxThreads = 0, maxBlocks = 0, sharedBytes = 0;
};

/// Makes a model of it: its own numbers, and rates of the nearest device in the
/// table, in proportion to multiprocessors and clocks. Fails if the table has
/// no device of its generation.
llvm::Expected<DeviceModel> describeDevice(const PresentDevice &present);

} // namespace mp

#endif // MPOPT_CODEGEN_TARGET_DEVICEMODELS_H
