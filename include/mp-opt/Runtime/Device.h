/*===- Device.h - Models on devices -----------------------------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A session is a plan (Plan.h) with its memory on a device. Inputs stay there
// between calls: they are set when they change, and states, which calls write
// over, only by those who start or resume a run. Calls are put in line and not
// waited for; what is read back is there when mp_session_wait has returned.
//
// Functions return MP_OK or a code, with a text in mp_last_error(). One thread
// at a time uses a session.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_RUNTIME_DEVICE_H
#define MPOPT_RUNTIME_DEVICE_H

#include "mp-opt/Runtime/Driver.h"
#include "mp-opt/Runtime/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A code beside those of Runtime.h. */
enum {
  /* Bytes are no plan. */
  MP_BAD_PLAN = 7
};

typedef struct mp_session mp_session;

typedef struct mp_session_options {
  /* At a multiple of 8; it stays there as long as the session. */
  const void *plan;
  uint64_t plan_bytes;
  const mp_driver *driver;
  /* As the driver counts them. */
  int32_t device;
  /* The plan's constants, which are copied to the device; null where there are
     no bytes. */
  const void *const *constants;
  /* What emulated images of the plan stand for: for cuModuleLoadDataEx of the
     emulated driver. Null if there are none. */
  const void *emulated_image;
} mp_session_options;

/* Takes the memory of the plan on the device, loads its kernels, and makes one
   graph of its records. On failure `*session` is null, and nothing is left. */
int32_t mp_session_create(const mp_session_options *options,
                          mp_session **session);
/* Waits for what is in line, and gives all back; null does nothing. */
void mp_session_destroy(mp_session *session);

/* Copies the data of an input to the device, for all calls to come. `data` must
   stay as it is until the next mp_session_wait. */
int32_t mp_session_set(mp_session *session, uint32_t input, const void *data);

/* Puts a call in line. All inputs have been set. Random numbers are a function
   of `number`. Where ranks reduce by mp_set_collectives, the call is waited for
   up to the last reduction: memory goes through the host. By
   mp_set_device_ranks, only conditions are waited for, of which accumulating
   steps have one. */
int32_t mp_session_run(mp_session *session, int64_t number);

/* Put a copy in line, of an output of the last call or of an input, which is a
   state as the last call has left it. */
int32_t mp_session_get_output(mp_session *session, uint32_t output, void *data);
int32_t mp_session_get(mp_session *session, uint32_t input, void *data);

/* Waits for all that is in line. MP_BAD_VALUE if a kernel of a call since the
   last wait has found a value out of range: states may have changed then. */
int32_t mp_session_wait(mp_session *session);

/* Members of a bucket that have travelled together, in the order in which they
   were there. Times are seconds since the call began. */
typedef struct mp_reduction_time {
  /* `type` is an mp_reduced_type; bytes are those of the members. */
  int32_t bucket, type;
  uint64_t bytes;
  /* When the last member was there, and when work on the stream for that began,
     which may have waited for what is in front of it, and ended. */
  double ready, begun, done;
  /* When the model began to wait for it, and went on; both are 0 if it has
     not. */
  double needed, resumed;
} mp_reduction_time;

/* What carries bytes between the devices of ranks, NCCL for one. Where it is
   set, sessions reduce with it and leave mp_collectives alone: they copy what
   is to be reduced to one place, exchange it, add it up in the order of ranks,
   and gather the results, on a stream of their own beside what the model goes
   on with. All ranks do the same in the same order. Functions return 0, or
   fail the call of the model with `error`'s text. */
typedef struct mp_device_ranks {
  void *context;
  int32_t rank, size;
  /* Not 0 if gradients of f32 travel in bf16. */
  int32_t is_wire_bf16;
  /* Put in line for a stream (CUstream), with the session's context current:
     part r of `parts` goes to rank r, and what rank r sends becomes part r of
     `from`; or all ranks' `own` become parts of `all`, in which `own` may be
     this rank's. A part has so many bytes. */
  int32_t (*exchange)(void *context, mp_device_address parts,
                      mp_device_address from, uint64_t bytes, void *stream);
  int32_t (*gather)(void *context, mp_device_address own, mp_device_address all,
                    uint64_t bytes, void *stream);
  /* Called again and again while a session waits for what is in line: with the
     bucket that other ranks are waited for, or with -1 while the device does
     what it can, and in the end. What fails here has ended what was in line. */
  int32_t (*watch)(void *context, int32_t bucket);
  /* Called when all is done, with what has been reduced since the last time: of
     several calls, the last. */
  void (*measured)(void *context, const mp_reduction_time *times,
                   uint64_t count);
  const char *(*error)(void *context);
} mp_device_ranks;

/* Of this process, for all its sessions; it is not copied. Null, the default,
   for none. No session has anything in line meanwhile. */
void mp_set_device_ranks(const mp_device_ranks *ranks);

/* Memory on the device, in bytes. */
uint64_t mp_session_bytes(const mp_session *session);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_RUNTIME_DEVICE_H */
