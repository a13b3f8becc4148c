//===- PresentDevice.cpp - The GPU of this machine ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/PresentDevice.h"

#include "mp-opt/Execution/MemoryFigures.h"
#include "mp-opt/Runtime/Device.h"

namespace mp {

/// Returns 0 if the driver does not know the attribute.
static unsigned getAttribute(const mp_driver &driver, int32_t device,
                             int32_t attribute) {
  int32_t value = 0;
  if (driver.cuDeviceGetAttribute(&value, attribute, device) || value < 0)
    return 0;
  return unsigned(value);
}

llvm::Expected<DeviceModel> findPresentDevice() {
  const mp_driver *found = nullptr;
  if (mp_cuda_driver(&found) != MP_OK)
    return llvm::createStringError(mp_last_error());
  const mp_driver &driver = *found;
  int32_t device = 0;
  char title[128] = "";
  int32_t error = driver.cuDeviceGet(&device, 0);
  if (!error)
    error = driver.cuDeviceGetName(title, sizeof(title), device);
  if (error)
    return llvm::createStringError("the driver does not say its name: CUDA's "
                                   "error " +
                                   llvm::Twine(error));
  auto ask = [&](int32_t attribute) {
    return getAttribute(driver, device, attribute);
  };
  PresentDevice present;
  present.title = title;
  present.capability = 10 * ask(MP_CUDA_ATTRIBUTE_CAPABILITY_MAJOR) +
                       ask(MP_CUDA_ATTRIBUTE_CAPABILITY_MINOR);
  present.numProcessors = ask(MP_CUDA_ATTRIBUTE_PROCESSORS);
  // Clocks are in kHz; memory transfers twice a clock.
  present.clock = 1e3 * ask(MP_CUDA_ATTRIBUTE_CLOCK);
  present.bandwidth = 2e3 * ask(MP_CUDA_ATTRIBUTE_MEMORY_CLOCK) *
                      ask(MP_CUDA_ATTRIBUTE_MEMORY_BITS) / 8;
  present.cacheBytes = ask(MP_CUDA_ATTRIBUTE_L2_BYTES);
  present.maxThreads = ask(MP_CUDA_ATTRIBUTE_PROCESSOR_THREADS);
  present.maxBlocks = ask(MP_CUDA_ATTRIBUTE_PROCESSOR_BLOCKS);
  present.sharedBytes = ask(MP_CUDA_ATTRIBUTE_PROCESSOR_SHARED);
  llvm::Expected<int64_t> memory = getMemoryBytes(DeviceKind::CUDA);
  if (!memory)
    return memory.takeError();
  present.memoryBytes = uint64_t(*memory);
  return describeDevice(present);
}

} // namespace mp
