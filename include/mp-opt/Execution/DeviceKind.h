//===- DeviceKind.h - Where models run --------------------------*- C++ -*-===//
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
  /// A GPU without one: the processor runs its kernels (lib/Emulation).
  Emulated
};

/// The words for them, in the enumeration's order.
llvm::ArrayRef<llvm::StringRef> getDeviceWords();
llvm::StringRef stringifyDevice(DeviceKind kind);

/// How devices multiply fp32 by fp32.
enum class FP32Products {
  /// Exactly: fused multiply-adds.
  IEEE,
  /// By tensor cores, of factors rounded to tf32, which has 11 significant bits
  /// (10 are stored); sums are in fp32. torch calls it allow_tf32.
  TF32
};

/// The words for them, in the enumeration's order.
llvm::ArrayRef<llvm::StringRef> getFP32ProductsWords();

/// What is wrong with products that were asked for on a device; none if they
/// fit.
std::optional<std::string> findMisfit(FP32Products products, DeviceKind device);

/// Of NVIDIA's GPUs: what PTX is made for.
struct PTXTarget {
  /// As ptxas and LLVM call it; later GPUs run that code, too, but for those
  /// with an `a`.
  std::string chip = "sm_80";
  /// 10 * major + minor of the oldest version of PTX that is not too old; 0 for
  /// the chip's own, and at least 8.0.
  unsigned version = 0;
  /// Machine code of this chip, by CUDA's ptxas or nvJitLink, in the place of
  /// PTX.
  bool isCubin = false;
};

} // namespace mp

#endif // MPOPT_EXECUTION_DEVICEKIND_H
