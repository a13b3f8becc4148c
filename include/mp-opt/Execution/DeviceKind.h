//===- DeviceKind.h - Kinds of devices --------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_DEVICEKIND_H
#define MPOPT_EXECUTION_DEVICEKIND_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace mp {

enum class DeviceKind {
  /// The processor.
  CPU,
  /// The first GPU that NVIDIA's driver finds.
  CUDA,
  /// A GPU emulated by the processor, which runs its kernels (lib/Emulation).
  Emulated
};

/// The names in flags, in the enumeration's order.
llvm::ArrayRef<llvm::StringRef> getDeviceWords();
llvm::StringRef stringifyDevice(DeviceKind kind);

/// The arithmetic of fp32 products on devices.
enum class FP32Products {
  /// Exact products: fused multiply-adds.
  IEEE,
  /// On tensor cores, with factors rounded to tf32, which has 11 significant
  /// bits (10 are stored), and sums in fp32. torch calls it allow_tf32.
  TF32
};

/// The names in flags, in the enumeration's order.
llvm::ArrayRef<llvm::StringRef> getFP32ProductsWords();

/// An error message if the products do not fit the device; absent if they do.
std::optional<std::string> findMisfit(FP32Products products, DeviceKind device);

/// The target of PTX code among NVIDIA's GPUs.
struct PTXTarget {
  /// The name used by ptxas and LLVM. Later GPUs run the code too, unless the
  /// name ends with `a`.
  std::string chip = "sm_80";
  /// 10 * major + minor of the minimum version of PTX; 0 for the chip's own
  /// minimum, but at least 8.0.
  unsigned version = 0;
  /// True for machine code of this chip instead of PTX, made by CUDA's ptxas or
  /// nvJitLink.
  bool isCubin = false;
};

} // namespace mp

#endif // MPOPT_EXECUTION_DEVICEKIND_H
