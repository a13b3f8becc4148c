//===- Device.cpp - A device, by its driver -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "../CPU/LastError.h"

namespace mp::runtime {

int32_t Device::fail(int32_t error, const char *function,
                     const char *what) const {
  const char *errorName = nullptr, *text = nullptr;
  driver.cuGetErrorName(error, &errorName);
  driver.cuGetErrorString(error, &text);
  int32_t code =
      error == MP_CUDA_OUT_OF_MEMORY ? MP_OUT_OF_MEMORY : MP_DEVICE_FAILED;
  return refuseWith(code, "device '%s': %s: %s, %s (%s)", name, what, function,
                    errorName ? errorName : "unknown error",
                    text ? text : "no text");
}

int32_t Device::open(int32_t number) {
  int32_t count = 0, major = 0, minor = 0;
  if (int32_t error = driver.cuInit(0))
    return fail(error, "cuInit", "starting the driver");
  if (int32_t error = driver.cuDeviceGetCount(&count))
    return fail(error, "cuDeviceGetCount", "looking for devices");
  if (number < 0 || number >= count)
    return refuseWith(MP_NO_DEVICE, "found %d devices, expected number %d",
                      count, number);
  int32_t found = -1;
  if (int32_t error = driver.cuDeviceGet(&found, number))
    return fail(error, "cuDeviceGet", "opening it");
  if (int32_t error = driver.cuDeviceGetName(name, sizeof(name), found))
    return fail(error, "cuDeviceGetName", "asking for its name");
  struct {
    int32_t attribute, *value;
  } asked[] = {{MP_CUDA_ATTRIBUTE_CAPABILITY_MAJOR, &major},
               {MP_CUDA_ATTRIBUTE_CAPABILITY_MINOR, &minor},
               {MP_CUDA_ATTRIBUTE_SHARED, &mostShared}};
  for (auto &[attribute, value] : asked)
    if (int32_t error = driver.cuDeviceGetAttribute(value, attribute, found))
      return fail(error, "cuDeviceGetAttribute", "asking what it can do");
  capability = static_cast<uint32_t>(10 * major + minor);
  if (int32_t error = driver.cuDriverGetVersion(&version))
    return fail(error, "cuDriverGetVersion", "asking for its version");
  if (int32_t error = driver.cuDevicePrimaryCtxRetain(&context, found))
    return fail(error, "cuDevicePrimaryCtxRetain", "making a context");
  device = found;
  return MP_OK;
}

void Device::close() {
  if (device >= 0)
    driver.cuDevicePrimaryCtxRelease_v2(device);
  device = -1;
}

//===----------------------------------------------------------------------===//
// What it can do
//===----------------------------------------------------------------------===//

/// The least CUDA whose driver compiles a version of PTX, by the tables of
/// NVIDIA's «PTX ISA», release notes: minor versions were in step up to 12.5.
static int32_t getLeastVersion(uint32_t ptx) {
  if (ptx < 80)
    return ptx >= 70 ? 11000 + 10 * static_cast<int32_t>(ptx - 70) : 11000;
  if (ptx < 90) {
    auto minor = static_cast<int32_t>(ptx - 80);
    return 12000 + 10 * (minor > 5 ? minor + 1 : minor);
  }
  return 13000 + 10 * static_cast<int32_t>(ptx - 90);
}

int32_t Device::checkImage(const mp_plan_image &image) const {
  bool isEmulated = image.kind == MP_IMAGE_EMULATED;
  if (isEmulated && !driver.is_emulated)
    return refuseWith(MP_NO_DEVICE,
                      "device '%s': the kernels are made for emulation", name);
  if (isEmulated)
    return MP_OK;
  const char *suffix = image.is_specific ? "a" : "";
  bool isOld = capability < image.architecture;
  bool isOther = image.is_specific && capability != image.architecture;
  // Machine code is for one major version.
  if (image.kind == MP_IMAGE_CUBIN)
    isOther |= capability / 10 != image.architecture / 10;
  if (isOld || isOther)
    return refuseWith(MP_NO_DEVICE,
                      "device '%s' has compute capability %u.%u, the kernels "
                      "are made for sm_%u%s%s",
                      name, capability / 10, capability % 10,
                      image.architecture, suffix,
                      isOther ? " alone" : " and later");
  int32_t least = getLeastVersion(image.ptx_version);
  if (image.kind == MP_IMAGE_PTX && version < least)
    return refuseWith(
        MP_NO_DEVICE,
        "device '%s': the driver is for CUDA %d.%d, but PTX %u.%u needs one "
        "for CUDA %d.%d or later",
        name, version / 1000, version % 1000 / 10, image.ptx_version / 10,
        image.ptx_version % 10, least / 1000, least % 1000 / 10);
  return MP_OK;
}

int32_t Device::check(const PlanView &plan) const {
  for (uint64_t index = 0; index < plan.head->images.count; ++index)
    if (int32_t code = checkImage(plan.getImages()[index]))
      return code;
  for (uint64_t index = 0; index < plan.head->kernels.count; ++index) {
    const mp_plan_kernel &kernel = plan.getKernels()[index];
    if (kernel.shared > static_cast<uint32_t>(mostShared))
      return refuseWith(
          MP_NO_DEVICE,
          "device '%s': a block has %d bytes of shared memory, kernel '%s' "
          "needs %u",
          name, mostShared, plan.getText(kernel.name), kernel.shared);
  }
  return MP_OK;
}

} // namespace mp::runtime
