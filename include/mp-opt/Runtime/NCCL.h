/*===- NCCL.h - NCCL as a table of functions --------------------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Building this requires no part of NCCL: its library is opened when ranks
// train on devices, or an emulated one takes its place.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_RUNTIME_NCCL_H
#define MPOPT_RUNTIME_NCCL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ncclUniqueId: created by rank 0, and used by all ranks to connect. */
typedef struct mp_nccl_id {
  char bytes[128];
} mp_nccl_id;

typedef struct mp_nccl {
#define MP_NCCL_FUNCTION(NAME, PARAMETERS) int32_t(*NAME) PARAMETERS;
#include "mp-opt/Runtime/NCCLFunctions.def"
  const char *(*ncclGetErrorString)(int32_t error);
  /* Details of the thread's last error; null before NCCL 2.13. */
  const char *(*ncclGetLastError)(void *communicator);
} mp_nccl;

/* Constants with NCCL's numbers. */
enum {
  MP_NCCL_CUDA_ERROR = 1,
  MP_NCCL_SYSTEM_ERROR = 2,
  MP_NCCL_INVALID_ARGUMENT = 4,
  MP_NCCL_INVALID_USAGE = 5,
  MP_NCCL_REMOTE_ERROR = 6,
  MP_NCCL_IN_PROGRESS = 7,
  /* ncclInt8: data are sent as bytes only. */
  MP_NCCL_BYTES = 0
};

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_RUNTIME_NCCL_H */
