/*===- EmulatedDriver.h - CUDA's driver without a GPU -----------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices whose kernels the emulator runs. They are stricter than a driver may
// be, so that what works here by chance does not fail there:
//
// * work is done when a stream is waited for, and not before, that of other
//   streams as late as events allow, or with MPOPT_EMULATED_STREAMS=early as
//   soon;
// * memory of the device is out of the host's reach, has other memory on
//   neither side, and is never zero at first; writes behind its end are found;
// * addresses, sizes, handles, grids, blocks and shared memory are checked;
// * nothing is freed, allocated or waited for while work is in line or
//   recorded;
// * after a kernel that failed, nothing works until the context has gone.
//
// What is wrong is said by cuGetErrorString. Environment variables:
// MPOPT_EMULATED_LOG names a file that gets a line for each call,
// MPOPT_EMULATED_MEMORY says how many bytes a device has (by default 16 GiB),
// MPOPT_EMULATED_DEVICES how many devices there are (by default 1),
// MPOPT_EMULATED_CAPABILITY what they can do (by default 90, for sm_90),
// MPOPT_EMULATED_CUDA the driver's version (by default 13000). For tests,
// MPOPT_EMULATED_FAIL=cuGraphLaunch:3:214 makes the call of that function fail
// with that error which is behind three others; with an error that says that
// the device is lost (46, 214, 719), all later calls fail as well.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_EMULATION_EMULATEDDRIVER_H
#define MPOPT_EMULATION_EMULATEDDRIVER_H

#include "mp-opt/Emulation/Emulator.h"
#include "mp-opt/Runtime/Driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What cuModuleLoadDataEx takes: kernels as functions. It stays there as long
   as the module. (PTX is taken as well; its kernels are then those of the same
   names in the library that MPOPT_EMULATED_KERNELS names.) */
typedef struct mp_emulated_image {
  char mark[8]; /* MP_EMULATED_MARK */
  const mp_emulated_kernel *kernels;
  uint64_t count;
} mp_emulated_image;

#define MP_EMULATED_MARK "mp-emul"

const mp_driver *mp_emulated_driver(void);
/* The same, in the form of mp_cuda_driver: MP_OK always. */
int32_t mp_open_emulated_driver(const mp_driver **driver);

/* What the device is, for tests; it starts as compute capability 9.0 with CUDA
   13.0. */
typedef struct mp_emulated_device {
  int32_t major, minor;
  int32_t version;
  uint64_t memory;
  int32_t devices;
} mp_emulated_device;

mp_emulated_device mp_emulated_get_device(void);
void mp_emulated_set_device(const mp_emulated_device *device);

/* For tests: the `call`-th call of the driver from now on, counted from 0, does
   nothing but return `error`; -1 for none. Questions for names of errors do not
   count. */
void mp_emulated_fail(int64_t call, int32_t error);
/* Calls so far. */
int64_t mp_emulated_calls(void);

/* What was made and not given back, contexts that are held among it. */
int64_t mp_emulated_leaks(void);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_EMULATION_EMULATEDDRIVER_H */
