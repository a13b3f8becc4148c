/*===- Driver.h - CUDA's driver as a table of functions ---------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Building this requires no part of CUDA: the driver's library is opened when a
// model runs, or an emulated driver takes its place.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_RUNTIME_DRIVER_H
#define MPOPT_RUNTIME_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CUdeviceptr. */
typedef unsigned long long mp_device_address;

typedef struct mp_driver {
  /* True if modules are functions of the host: mp_emulated_image. */
  int32_t is_emulated;
#define MP_DRIVER_FUNCTION(NAME, PARAMETERS) int32_t(*NAME) PARAMETERS;
#include "mp-opt/Runtime/DriverFunctions.def"
} mp_driver;

/* Attributes, flags and errors with CUDA's numbers. */
enum {
  MP_CUDA_INVALID_VALUE = 1,
  MP_CUDA_OUT_OF_MEMORY = 2,
  MP_CUDA_NOT_INITIALIZED = 3,
  MP_CUDA_DEVICE_UNAVAILABLE = 46,
  MP_CUDA_NO_DEVICE = 100,
  MP_CUDA_INVALID_DEVICE = 101,
  MP_CUDA_INVALID_IMAGE = 200,
  MP_CUDA_INVALID_CONTEXT = 201,
  MP_CUDA_NO_BINARY_FOR_GPU = 209,
  MP_CUDA_ECC_UNCORRECTABLE = 214,
  MP_CUDA_UNSUPPORTED_PTX_VERSION = 222,
  MP_CUDA_INVALID_HANDLE = 400,
  MP_CUDA_NOT_FOUND = 500,
  MP_CUDA_NOT_READY = 600,
  MP_CUDA_LAUNCH_FAILED = 719,
  MP_CUDA_CAPTURE_UNSUPPORTED = 900,
  MP_CUDA_CAPTURE_INVALIDATED = 901,

  MP_CUDA_ATTRIBUTE_CAPABILITY_MAJOR = 75,
  MP_CUDA_ATTRIBUTE_CAPABILITY_MINOR = 76,
  /* Multiprocessors and their highest clock in kHz; the clock of memory in
     kHz, and the bits that it moves together; bytes of the L2 cache. */
  MP_CUDA_ATTRIBUTE_CLOCK = 13,
  MP_CUDA_ATTRIBUTE_PROCESSORS = 16,
  MP_CUDA_ATTRIBUTE_MEMORY_CLOCK = 36,
  MP_CUDA_ATTRIBUTE_MEMORY_BITS = 37,
  MP_CUDA_ATTRIBUTE_L2_BYTES = 38,
  /* Threads, bytes of shared memory and blocks of a multiprocessor. */
  MP_CUDA_ATTRIBUTE_PROCESSOR_THREADS = 39,
  MP_CUDA_ATTRIBUTE_PROCESSOR_SHARED = 81,
  MP_CUDA_ATTRIBUTE_PROCESSOR_BLOCKS = 106,
  /* Bytes of shared memory of a block, by MP_CUDA_FUNCTION_SHARED. */
  MP_CUDA_ATTRIBUTE_SHARED = 97,
  /* For a function: the maximum dynamic shared memory. */
  MP_CUDA_FUNCTION_SHARED = 8,

  MP_CUDA_STREAM_NON_BLOCKING = 1,
  /* For an event: its time can be queried, or it cannot. */
  MP_CUDA_EVENT_DEFAULT = 0,
  MP_CUDA_EVENT_DISABLE_TIMING = 2,
  /* The number of bytes of cuDeviceGetUuid. */
  MP_CUDA_UUID_BYTES = 16,
  /* Other threads are not restricted during the capture. */
  MP_CUDA_CAPTURE_THREAD_LOCAL = 1,
  MP_CUDA_JIT_ERROR_LOG = 5,
  MP_CUDA_JIT_ERROR_LOG_BYTES = 6
};

/* Opens libcuda.so.1, once per process, and initializes it. Returns MP_OK, or a
   code with a text in mp_last_error() if there is no driver, it lacks a
   function, or it has no device. */
int32_t mp_cuda_driver(const mp_driver **driver);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_RUNTIME_DRIVER_H */
