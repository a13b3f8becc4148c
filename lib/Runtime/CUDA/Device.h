//===- Device.h - A device, by its driver -----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_CUDA_DEVICE_H
#define MPOPT_LIB_RUNTIME_CUDA_DEVICE_H

#include "PlanView.h"
#include "mp-opt/Runtime/Device.h"

namespace mp::runtime {

/// A device and its primary context, which is that of others in the process,
/// too.
class Device {
public:
  explicit Device(const mp_driver &driver) : driver(driver) {}
  ~Device() { close(); }
  Device(const Device &) = delete;

  int32_t open(int32_t number);
  void close();

  /// Whether the device and its driver can run what the plan has: MP_OK, or an
  /// error that says what is there and what is needed.
  int32_t check(const PlanView &plan) const;

  /// Of image `index` and those that may be loaded instead, the one made for
  /// the latest device that this one is: `chosen`, or an error.
  int32_t choose(const PlanView &plan, uint64_t index, uint64_t &chosen) const;

  /// An error with the name that the driver has for `error`, and with what was
  /// being done.
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
  /// CUDA's version of the driver, 1000 * major + 10 * minor.
  int32_t version = 0;
  /// Of a block, in bytes.
  int32_t mostShared = 0;
};

/// The device's context is the thread's while this lives.
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
