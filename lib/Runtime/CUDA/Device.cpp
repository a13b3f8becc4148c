//===- Device.cpp - A device, by its driver -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "../CPU/LastError.h"

#include <cstdio>

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
               {MP_CUDA_ATTRIBUTE_SHARED, &maxShared}};
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
// Compatibility
//===----------------------------------------------------------------------===//

/// The lowest CUDA version whose driver compiles a version of PTX, by the
/// release notes in NVIDIA's «PTX ISA»: minor versions were in step up to 12.5.
static int32_t getMinVersion(uint32_t ptx) {
  if (ptx < 80)
    return ptx >= 70 ? 11000 + 10 * static_cast<int32_t>(ptx - 70) : 11000;
  if (ptx < 90) {
    auto minor = static_cast<int32_t>(ptx - 80);
    return 12000 + 10 * (minor > 5 ? minor + 1 : minor);
  }
  return 13000 + 10 * static_cast<int32_t>(ptx - 90);
}

/// True if an image with the number `other` has the kernels of `index`.
static bool isFor(const PlanView &plan, uint64_t other, uint64_t index) {
  return other == index ||
         plan.getImages()[other].instead_of == static_cast<int64_t>(index);
}

/// Greater for images made for newer devices and, for the same device, for
/// machine code, which needs no compiler, than for PTX.
static uint32_t getRank(const mp_plan_image &image) {
  return 4 * image.architecture + 2 * (image.is_specific != 0) +
         (image.kind == MP_IMAGE_CUBIN);
}

bool Device::runs(const mp_plan_image &image) const {
  if (image.kind == MP_IMAGE_EMULATED)
    return driver.is_emulated;
  if (image.is_specific)
    return capability == image.architecture;
  // Machine code only runs on one major version.
  if (image.kind == MP_IMAGE_CUBIN &&
      capability / 10 != image.architecture / 10)
    return false;
  return capability >= image.architecture;
}

int32_t Device::checkDriver(const mp_plan_image &image) const {
  int32_t least = getMinVersion(image.ptx_version);
  if (image.kind != MP_IMAGE_PTX || version >= least)
    return MP_OK;
  return refuseWith(
      MP_NO_DEVICE,
      "device '%s': the driver is for CUDA %d.%d, but PTX %u.%u needs one "
      "for CUDA %d.%d or later",
      name, version / 1000, version % 1000 / 10, image.ptx_version / 10,
      image.ptx_version % 10, least / 1000, least % 1000 / 10);
}

/// The error if the device is not supported by the kernels of an image.
int32_t Device::refuse(const PlanView &plan, uint64_t index) const {
  if (plan.getImages()[index].kind == MP_IMAGE_EMULATED)
    return refuseWith(MP_NO_DEVICE,
                      "device '%s': the kernels are made for emulation", name);
  char made[200] = "";
  size_t length = 0;
  for (uint64_t other = index; other < plan.head->images.count; ++other) {
    const mp_plan_image &image = plan.getImages()[other];
    if (!isFor(plan, other, index) || length >= sizeof(made))
      continue;
    bool isAlone =
        image.is_specific || (image.kind == MP_IMAGE_CUBIN &&
                              capability / 10 != image.architecture / 10);
    length += static_cast<size_t>(std::snprintf(
        made + length, sizeof(made) - length, "%ssm_%u%s %s",
        length ? ", " : "", image.architecture, image.is_specific ? "a" : "",
        isAlone ? "alone" : "and later"));
  }
  return refuseWith(MP_NO_DEVICE,
                    "device '%s' has compute capability %u.%u, the kernels are "
                    "made for %s",
                    name, capability / 10, capability % 10, made);
}

int32_t Device::choose(const PlanView &plan, uint64_t index,
                       uint64_t &chosen) const {
  const mp_plan_image *images = plan.getImages(), *best = nullptr;
  int32_t code = MP_OK;
  for (uint64_t other = index; other < plan.head->images.count; ++other) {
    if (!isFor(plan, other, index) || !runs(images[other]))
      continue;
    if (int32_t refused = checkDriver(images[other])) {
      code = refused;
    } else if (!best || getRank(*best) < getRank(images[other])) {
      best = &images[other];
      chosen = other;
    }
  }
  if (best) {
    clearLastError();
    return MP_OK;
  }
  return code ? code : refuse(plan, index);
}

int32_t Device::check(const PlanView &plan) const {
  for (uint64_t index = 0; index < plan.head->images.count; ++index)
    if (uint64_t chosen; plan.getImages()[index].instead_of == -1)
      if (int32_t code = choose(plan, index, chosen))
        return code;
  for (uint64_t index = 0; index < plan.head->kernels.count; ++index) {
    const mp_plan_kernel &kernel = plan.getKernels()[index];
    if (kernel.shared > static_cast<uint32_t>(maxShared))
      return refuseWith(
          MP_NO_DEVICE,
          "device '%s': a block has %d bytes of shared memory, kernel '%s' "
          "needs %u",
          name, maxShared, plan.getText(kernel.name), kernel.shared);
  }
  return MP_OK;
}

} // namespace mp::runtime
