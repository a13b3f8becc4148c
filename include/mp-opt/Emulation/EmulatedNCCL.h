/*===- EmulatedNCCL.h - NCCL without GPUs -----------------------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks of one machine, each a process with an emulated device
// (EmulatedDriver.h). What is sent is work of a stream, and travels through
// sockets when that is waited for; until other ranks have come as far, the
// stream is not ready, for ever if they have gone. Addresses, sizes and ranks
// are checked, and that both sides of a message have the same size.
// MPOPT_EMULATED_FAIL works for functions of NCCL, too.
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
