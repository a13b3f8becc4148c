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
   of `number`. Where ranks reduce (mp_set_collectives), the call is waited for
   up to the last reduction: memory goes through the host. */
int32_t mp_session_run(mp_session *session, int64_t number);

/* Put a copy in line, of an output of the last call or of an input, which is a
   state as the last call has left it. */
int32_t mp_session_get_output(mp_session *session, uint32_t output, void *data);
int32_t mp_session_get(mp_session *session, uint32_t input, void *data);

/* Waits for all that is in line. MP_BAD_VALUE if a kernel of a call since the
   last wait has found a value out of range: states may have changed then. */
int32_t mp_session_wait(mp_session *session);

/* Memory on the device, in bytes. */
uint64_t mp_session_bytes(const mp_session *session);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_RUNTIME_DEVICE_H */
