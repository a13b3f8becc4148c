/*===- EmulatedNCCL.h - NCCL without GPUs -----------------------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks on one machine, each a process with an emulated device
// (EmulatedDriver.h). Sends are work of a stream and go through sockets when
// the stream is waited for. Until other ranks have reached the same point, the
// stream is not ready; it never is if they have ended. Addresses, sizes and
// ranks are checked, and both sides of a message must have the same size.
// MPOPT_EMULATED_FAIL also works for functions of NCCL.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_EMULATION_EMULATEDNCCL_H
#define MPOPT_EMULATION_EMULATEDNCCL_H

#include "mp-opt/Runtime/NCCL.h"

#ifdef __cplusplus
extern "C" {
#endif

const mp_nccl *mp_emulated_nccl(void);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_EMULATION_EMULATEDNCCL_H */
