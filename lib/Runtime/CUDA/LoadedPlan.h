//===- LoadedPlan.h - A plan's memory and kernels on a device ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_CUDA_LOADEDPLAN_H
#define MPOPT_LIB_RUNTIME_CUDA_LOADEDPLAN_H

#include "Array.h"
#include "Device.h"

namespace mp::runtime {

/// The parts of a session that work on the device refers to. Objects that were
/// not created are null.
struct LoadedPlan {
  explicit LoadedPlan(const mp_session_options &options)
      : plan{static_cast<const mp_plan *>(options.plan)},
        device(*options.driver), driver(*options.driver) {}

  mp_device_address getAddress(const mp_plan_place &place) const;

  PlanView plan;
  Device device;
  const mp_driver &driver;
  void *stream = nullptr;
  mp_device_address arena = 0, control = 0;
  /// 0 for an output that is written over an input.
  Array<mp_device_address> inputs, outputs, constants;
  Array<void *> modules, functions;
  /// The total size of the memory on the device, in bytes.
  uint64_t bytes = 0;
};

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_CUDA_LOADEDPLAN_H
