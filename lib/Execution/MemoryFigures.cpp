//===- MemoryFigures.cpp - Memory of a model ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/MemoryFigures.h"

#include "mp-opt/Emulation/EmulatedDriver.h"
#include "mp-opt/Execution/DevicePlan.h"
#include "mp-opt/Execution/ModelInterface.h"
#include "mp-opt/Runtime/Runtime.h"

#include "llvm/Support/MathExtras.h"

#include <unistd.h>

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Memory that the model needs
//===----------------------------------------------------------------------===//

int64_t MemoryFigures::getTotal() const {
  uint64_t total = 0;
  for (int64_t bytes : {arena, constants, inputs, outputs, nextInputs})
    total = llvm::SaturatingAdd(total, uint64_t(bytes));
  return int64_t(std::min<uint64_t>(total, INT64_MAX));
}

/// The size of a value; 0 if unknown.
static int64_t getBytes(const ProgramValue &value) {
  uint64_t bytes = getElementBytes(value.kind);
  for (int64_t size : value.sizes)
    bytes =
        llvm::SaturatingMultiply(bytes, uint64_t(std::max<int64_t>(size, 0)));
  return int64_t(std::min<uint64_t>(bytes, INT64_MAX));
}

FailureOr<MemoryFigures> getMemoryFigures(ModuleOp module, DeviceKind device,
                                          bool updateInPlace) {
  FailureOr<ModelInterface> interface = readInterface(module);
  if (failed(interface))
    return failure();
  MemoryFigures figures;
  figures.arena = interface->arenaBytes;
  if (device != DeviceKind::CPU) {
    FailureOr<DevicePlan> plan = makePlan(module);
    if (failed(plan))
      return failure();
    figures.arena = int64_t(plan->arenaBytes);
    for (uint64_t bytes : plan->getNextInputs())
      figures.nextInputs += int64_t(bytes);
  }
  for (const Tensor &constant : interface->constants)
    figures.constants += int64_t(constant.getNumBytes());
  for (const ProgramValue &input : interface->inputs)
    figures.inputs += getBytes(input);
  for (const ProgramValue &output : interface->outputs)
    if (!updateInPlace || output.state < 0)
      figures.outputs += getBytes(output);
  return figures;
}

//===----------------------------------------------------------------------===//
// Memory of the machine
//===----------------------------------------------------------------------===//

/// The memory of the first device.
static llvm::Expected<int64_t> askDriver(const mp_driver &driver) {
  void *context = nullptr;
  int32_t device = 0;
  size_t unused = 0, total = 0;
  int32_t error = driver.cuInit(0);
  if (!error)
    error = driver.cuDeviceGet(&device, 0);
  if (!error)
    error = driver.cuDevicePrimaryCtxRetain(&context, device);
  if (error)
    return llvm::createStringError("the device cannot be asked for its memory: "
                                   "CUDA's error " +
                                   Twine(error));
  void *popped = nullptr;
  error = driver.cuCtxPushCurrent_v2(context);
  if (!error) {
    error = driver.cuMemGetInfo_v2(&unused, &total);
    driver.cuCtxPopCurrent_v2(&popped);
  }
  driver.cuDevicePrimaryCtxRelease_v2(device);
  if (error)
    return llvm::createStringError("the device does not say its memory: "
                                   "CUDA's error " +
                                   Twine(error));
  return int64_t(std::min<uint64_t>(total, INT64_MAX));
}

llvm::Expected<int64_t> getMemoryBytes(DeviceKind device) {
  if (device == DeviceKind::CPU)
    return int64_t(::sysconf(_SC_PHYS_PAGES)) *
           int64_t(::sysconf(_SC_PAGESIZE));
  if (device == DeviceKind::Emulated)
    return askDriver(*mp_emulated_driver());
  const mp_driver *driver = nullptr;
  if (mp_cuda_driver(&driver) != MP_OK)
    return llvm::createStringError(mp_last_error());
  return askDriver(*driver);
}

} // namespace mp
