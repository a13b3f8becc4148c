//===- Device.h - A device, by its driver -----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_CUDA_DEVICE_H
#define MPOPT_LIB_RUNTIME_CUDA_DEVICE_H

#include "mp-opt/Runtime/Device.h"
#include "mp-opt/Runtime/PlanView.h"

namespace mp::runtime {

/// A device and its primary context, which is shared with other code in the
/// process.
class Device {
public:
  explicit Device(const mp_driver &driver) : driver(driver) {}
  ~Device() { close(); }
  Device(const Device &) = delete;

  int32_t open(int32_t number);
  void close();

  /// Checks if the device and its driver can run the plan. Returns MP_OK, or an
  /// error that names what is present and what is required.
  int32_t check(const PlanView &plan) const;

  /// Sets `chosen` to the best image among image `index` and its alternatives:
  /// of those that this device can run, the one made for the latest device.
  /// Fails if there is none.
  int32_t choose(const PlanView &plan, uint64_t index, uint64_t &chosen) const;

  /// Sets an error with the driver's name for `error` and the action that
  /// failed.
  int32_t fail(int32_t error, const char *function, const char *what) const;

  const mp_driver &driver;
  void *context = nullptr;
  char name[64] = "";

private:
  bool runs(const mp_plan_image &image) const;
  int32_t checkDriver(const mp_plan_image &image) const;
  int32_t refuse(const PlanView &plan, uint64_t index) const;

  int32_t device = -1;
  /// 10 * major + minor.
  uint32_t capability = 0;
  /// The driver's version of CUDA, 1000 * major + 10 * minor.
  int32_t version = 0;
  /// The maximum shared memory of a block, in bytes.
  int32_t maxShared = 0;
};

/// Makes the device's context current for the thread during its lifetime.
class Current {
public:
  explicit Current(const Device &device) : driver(device.driver) {
    error = driver.cuCtxPushCurrent_v2(device.context);
  }
  ~Current() {
    void *context;
    if (!error)
      driver.cuCtxPopCurrent_v2(&context);
  }
  Current(const Current &) = delete;

  int32_t error;

private:
  const mp_driver &driver;
};

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_CUDA_DEVICE_H
