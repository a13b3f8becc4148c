/*===- EmulatedDriver.h - CUDA's driver without a GPU -----------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices whose kernels the emulator runs. They are stricter than a driver may
// be, so that programs that work here do not fail there:
//
// * work is done only when a stream is waited for. Work of other streams is
//   done as late as events allow or, with MPOPT_EMULATED_STREAMS=early, as soon
//   as possible;
// * memory of the device is not accessible to the host, is not adjacent to
//   other memory, and is never zero at first; writes after its end are
//   detected;
// * addresses, sizes, handles, grids, blocks and shared memory are checked;
// * nothing may be freed, allocated or waited for while work is queued or
//   recorded;
// * after a kernel has failed, all calls fail until the context is destroyed.
//
// cuGetErrorString describes the error. Environment variables:
// MPOPT_EMULATED_LOG names a file that gets a line for each call,
// MPOPT_EMULATED_MEMORY is the memory of a device in bytes (default: 16 GiB),
// MPOPT_EMULATED_DEVICES is the number of devices (default: 1),
// MPOPT_EMULATED_CAPABILITY is their capability (default: 90, for sm_90),
// MPOPT_EMULATED_CUDA is the driver's version (default: 13000). For tests,
// MPOPT_EMULATED_FAIL=cuGraphLaunch:3:214 lets three calls of that function
// succeed, and the next one fail with that error. If the error says that the
// device is lost (46, 214, 719), all later calls fail as well.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_EMULATION_EMULATEDDRIVER_H
#define MPOPT_EMULATION_EMULATEDDRIVER_H

#include "mp-opt/Emulation/Emulator.h"
#include "mp-opt/Runtime/Driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An image for cuModuleLoadDataEx: kernels as functions. It must outlive the
   module. (PTX is accepted as well; its kernels are then those of the same
   names in the library named by MPOPT_EMULATED_KERNELS.) */
typedef struct mp_emulated_image {
  char mark[8]; /* MP_EMULATED_MARK */
  const mp_emulated_kernel *kernels;
  uint64_t count;
} mp_emulated_image;

#define MP_EMULATED_MARK "mp-emul"

const mp_driver *mp_emulated_driver(void);
/* Same with the signature of mp_cuda_driver; always returns MP_OK. */
int32_t mp_open_emulated_driver(const mp_driver **driver);

/* The properties of the device, for tests; initially compute capability 9.0
   with CUDA 13.0. */
typedef struct mp_emulated_device {
  int32_t major, minor;
  int32_t version;
  uint64_t memory;
  int32_t devices;
} mp_emulated_device;

mp_emulated_device mp_emulated_get_device(void);
void mp_emulated_set_device(const mp_emulated_device *device);

/* For tests: streams that nothing waits for run as early as possible, or as
   late as possible (MPOPT_EMULATED_STREAMS). */
void mp_emulated_set_early(int32_t isEarly);

/* For tests: call number `call` of the driver from now on, counted from 0, only
   returns `error`; -1 for none. Queries of names of errors do not count. */
void mp_emulated_fail(int64_t call, int32_t error);
/* The number of calls so far. */
int64_t mp_emulated_calls(void);

/* The number of objects that were created and not freed, including retained
   contexts. */
int64_t mp_emulated_leaks(void);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_EMULATION_EMULATEDDRIVER_H */
