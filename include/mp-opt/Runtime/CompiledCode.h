/*===- CompiledCode.h - What compiled models call ---------------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the run-time library that is only called by compiled code.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_RUNTIME_COMPILEDCODE_H
#define MPOPT_RUNTIME_COMPILEDCODE_H

#include "mp-opt/Runtime/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*mp_body)(void *frame, int64_t begin, int64_t end);

/* Calls `body` for ranges that make up [0, count), in any order. */
void mp_parallel_for(int64_t count, int64_t grain, mp_body body, void *frame);

/* Allocates memory at a multiple of 64; never null, since a failure ends the
   call. */
void *mp_allocate(int64_t bytes);
void mp_free(void *data);
/* Scratch of the calling thread, kept between calls; `slot` is 0 to 3. */
void *mp_scratch(int32_t slot, int64_t bytes);

/* The memory that calls of the model have kept in `slot`, or null. */
void *mp_kept(int64_t slot);
/* Keeps memory of mp_allocate for later calls, unless another call has done so
   before. The memory must not be written any more. Returns the memory that is
   kept. */
void *mp_keep(int64_t slot, void *data);
/* Frees the memory kept in `count` slots and makes them null. No call of the
   model may run at the same time. */
void mp_release_kept(void **kept, int64_t count);

/* The memory of an output: `*data`, or new memory that is returned to the
   caller. */
void *mp_output(void **data, int64_t bytes);

/* Ends the call if sizes of the first `count` inputs are not as expected.
   `expected` contains the rank and sizes of each input, with -1 for any size
   that is not negative; `names` contains their names, one after the other. */
void mp_check_inputs(const mp_tensor *inputs, int64_t count,
                     const int64_t *expected, const char *names);

/* Ends the call from the thread that made it. `%0` and `%1` in `text` are
   replaced by the numbers. */
void mp_fail(int32_t code, const char *text, int64_t a, int64_t b);
/* Makes the call fail at its end; may be called by any thread. If there are
   several errors, the one with the smallest text and numbers is reported. */
void mp_report(int32_t code, const char *text, int64_t a, int64_t b);

/* The start of the random numbers of `seed`: `seed` itself for the first draw
   of call 0, and a different value for each other draw of each call. Must not
   be called from threads of a loop. */
int64_t mp_draw(int64_t seed);

/* Adds `count` elements to the collective operation of a bucket with `members`
   members, which begins when the last one is added: `operation`, `type` and
   `rows` are as in mp_member (Runtime.h). The elements must not be accessed
   before the wait. If `condition` is 0, neither function does anything. */
void mp_reduce_start(int32_t condition, int32_t bucket, int32_t members,
                     int32_t operation, int32_t type, void *data, int64_t count,
                     const int64_t *rows, int64_t num_rows, int64_t size);
void mp_reduce_wait(int32_t condition, int32_t bucket);

/* Runs `body` with the handlers that mp_fail and mp_report need, as the call
   `number`, of which random numbers are a function. `kept` has an entry for
   each slot of the model: null at first, and the same in all calls. */
int32_t mp_call(mp_model body, const mp_tensor *inputs, mp_tensor *outputs,
                int64_t number, void **kept);

/* Runs a model in its own library, with missing data and sizes taken from its
   interface. */
int32_t mp_run(const mp_interface *interface, mp_model body,
               const mp_tensor *inputs, mp_tensor *outputs, void **kept);

/* LLVM's names of conversions to bf16, to the nearest, ties to even, for
   processors without an instruction for them. Results are returned as compilers
   return bf16: in the lower half of the float. Definitions are weak, since
   compilers may have their own. */
float __truncsfbf2(float x);
float __truncdfbf2(double x);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_RUNTIME_COMPILEDCODE_H */
