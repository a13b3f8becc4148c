/*===- Device.h - Models on devices -----------------------------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A session is a plan (Plan.h) with its memory on a device. Inputs stay there
// between calls and are only set when they change. States, which calls
// overwrite, are only set to start or resume a run. Calls are queued without
// waiting for them; results that are read back are valid after mp_session_wait.
//
// Functions return MP_OK or a code, with a text in mp_last_error(). Only one
// thread at a time may use a session.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_RUNTIME_DEVICE_H
#define MPOPT_RUNTIME_DEVICE_H

#include "mp-opt/Runtime/Driver.h"
#include "mp-opt/Runtime/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A code in addition to those of Runtime.h. */
enum {
  /* The bytes are not a plan. */
  MP_BAD_PLAN = 7
};

typedef struct mp_session mp_session;

typedef struct mp_session_options {
  /* The plan at a multiple of 8; it must outlive the session. */
  const void *plan;
  uint64_t plan_bytes;
  const mp_driver *driver;
  /* The driver's number of the device. */
  int32_t device;
  /* The plan's constants, which are copied to the device; null for those
     without bytes. */
  const void *const *constants;
  /* The module of emulated images of the plan, for cuModuleLoadDataEx of the
     emulated driver. Null if there are none. */
  const void *emulated_image;
} mp_session_options;

/* Allocates the memory of the plan on the device, loads its kernels, and makes
   graphs of its records. On failure `*session` is null, and everything is
   freed. */
int32_t mp_session_create(const mp_session_options *options,
                          mp_session **session);
/* Waits for queued work and frees everything; does nothing for null. */
void mp_session_destroy(mp_session *session);

/* Copies the data of an input to the device for all later calls. `data` must
   not change until the next mp_session_wait. */
int32_t mp_session_set(mp_session *session, uint32_t input, const void *data);

/* Inputs of more than this size can be copied during the call before. Smaller
   ones are copied in the stream of calls: a driver copies as many bytes of
   pageable memory without waiting for the device, and events would take longer
   than the copy. */
#define MP_MAX_DIRECT_BYTES 65536

/* Allocates buffers for mp_session_set_next: one on the device and two of
   pinned memory for each input of more than MP_MAX_DIRECT_BYTES that is not a
   state. No work may be queued. Without memory it returns MP_OUT_OF_MEMORY, and
   the session continues without buffers. Ranks have their buffers before:
   without memory for these it returns MP_DEVICE_FAILED. */
int32_t mp_session_prepare_next(mp_session *session);
/* Nonzero if mp_session_set_next takes the input. */
int32_t mp_session_takes_next(const mp_session *session, uint32_t input);
/* Copies the data of an input to the device for the calls after the last one
   that was queued, which may still run: the copy uses a stream of its own, and
   the next call waits for it. mp_session_wait does not. `data` may change when
   the function returns. Blocks while two earlier copies of the input are not
   done. */
int32_t mp_session_set_next(mp_session *session, uint32_t input,
                            const void *data);
/* Waits for such copies, and undoes those that no call has taken. */
int32_t mp_session_finish_next(mp_session *session);

/* Queues a call. All inputs must have been set. Random numbers are a function
   of `number`. If ranks reduce by mp_set_collectives, the function waits for
   the call up to its last reduction, since memory goes through the host. With
   mp_set_device_ranks it only waits for conditions; accumulating steps have
   one. */
int32_t mp_session_run(mp_session *session, int64_t number);

/* Queue a copy of an output of the last call, or of an input, which is a state
   as left by the last call. */
int32_t mp_session_get_output(mp_session *session, uint32_t output, void *data);
int32_t mp_session_get(mp_session *session, uint32_t input, void *data);

/* Waits for all queued work. Returns MP_BAD_VALUE if a kernel of a call since
   the last wait has found a value out of range; states may have changed in this
   case. */
int32_t mp_session_wait(mp_session *session);

/* Members of a bucket that were sent together, in the order in which they were
   ready. Times are seconds since the begin of the call. */
typedef struct mp_reduction_time {
  /* An mp_reduced_type, and the size of the members. */
  int32_t bucket, type;
  uint64_t bytes;
  /* The times at which the last member was ready, at which work on the stream
     began, possibly after earlier work, and at which it ended. */
  double ready, begun, done;
  /* The times at which the model began to wait for it and continued; both are 0
     if it has not waited. */
  double needed, resumed;
} mp_reduction_time;

/* The transport of bytes between the devices of ranks, e.g. NCCL. If it is set,
   sessions reduce with it and do not use mp_collectives: they pack the
   elements, exchange them, add them up in the order of ranks, and gather the
   results. This uses a separate stream, concurrently with the model. All ranks
   do the same in the same order. Functions return 0, or fail the call of the
   model with the text of `error`. */
typedef struct mp_device_ranks {
  void *context;
  int32_t rank, size;
  /* Nonzero if gradients of f32 are sent as bf16. */
  int32_t is_wire_bf16;
  /* Queued for a stream (CUstream), with the session's context current.
     `exchange` sends part r of `parts` to rank r, and stores the part received
     from rank r as part r of `from`. `gather` collects `own` of all ranks as
     the parts of `all`, which may contain `own` as this rank's part. `bytes` is
     the size of a part. */
  int32_t (*exchange)(void *context, mp_device_address parts,
                      mp_device_address from, uint64_t bytes, void *stream);
  int32_t (*gather)(void *context, mp_device_address own, mp_device_address all,
                    uint64_t bytes, void *stream);
  /* Called repeatedly while a session waits for queued work: with the bucket
     for which it waits for other ranks, or with -1 while the device works, and
     at the end. A failure ends the queued work. */
  int32_t (*watch)(void *context, int32_t bucket);
  /* Called when all work is done, with the reductions since the previous call.
     Of several calls of the model, only the last is reported. */
  void (*measured)(void *context, const mp_reduction_time *times,
                   uint64_t count);
  const char *(*error)(void *context);
} mp_device_ranks;

/* Sets the transport for all sessions of this process; the structure is not
   copied. Null, the default, means none. No session may have queued work. */
void mp_set_device_ranks(const mp_device_ranks *ranks);

/* The memory of the session on the device, in bytes. */
uint64_t mp_session_bytes(const mp_session *session);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_RUNTIME_DEVICE_H */
