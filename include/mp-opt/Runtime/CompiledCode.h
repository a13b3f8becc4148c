/*===- CompiledCode.h - What compiled models call ---------------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The side of the run-time library that only compiled code sees.
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

/* Memory at a multiple of 64; never null: failure ends the call. */
void *mp_allocate(int64_t bytes);
void mp_free(void *data);
/* Scratch of the calling thread, kept between calls; `slot` is 0 to 3. */
void *mp_scratch(int32_t slot, int64_t bytes);

/* What calls of the model have kept in place `slot`, or null. */
void *mp_kept(int64_t slot);
/* Keeps memory of mp_allocate there for later calls, unless another call was
   faster; it is not written any more. Returns what is kept. */
void *mp_keep(int64_t slot, void *data);
/* Frees what is kept in `count` places and makes them null. No call of the
   model runs meanwhile. */
void mp_release_kept(void **kept, int64_t count);

/* The memory of an output: `*data`, or new memory that the caller gets. */
void *mp_output(void **data, int64_t bytes);

/* Ends the call if sizes of the first `count` inputs are not what is expected.
   `expected` has each one's rank and sizes, -1 for any that is not negative;
   `names` their names, one behind the other. */
void mp_check_inputs(const mp_tensor *inputs, int64_t count,
                     const int64_t *expected, const char *names);

/* Ends the call from the thread that made it. `text` may contain `%0` and
   `%1`, which stand for the numbers. */
void mp_fail(int32_t code, const char *text, int64_t a, int64_t b);
/* Makes the call fail in the end; from any thread. Of several, that with the
   smallest text and numbers counts. */
void mp_report(int32_t code, const char *text, int64_t a, int64_t b);

/* Where random numbers of `seed` begin: `seed` itself for the first draw of
   call 0, else something else for each draw of each call. Not from threads of a
   loop. */
int64_t mp_draw(int64_t seed);

/* Hands `count` elements to the collective operation of a bucket of so many
   members, which begins with the last one: `operation` and `type` are those of
   mp_member (Runtime.h), and so are `rows`. Nobody else touches them before the
   wait. Where `condition` is 0, neither does anything. */
void mp_reduce_start(int32_t condition, int32_t bucket, int32_t members,
                     int32_t operation, int32_t type, void *data, int64_t count,
                     const int64_t *rows, int64_t num_rows, int64_t size);
void mp_reduce_wait(int32_t condition, int32_t bucket);

/* Runs `body` under the handlers that mp_fail and mp_report need, as the call
   `number`, of which random numbers are a function. `kept` has a place for each
   slot of the model: null at first, and the same in all calls. */
int32_t mp_call(mp_model body, const mp_tensor *inputs, mp_tensor *outputs,
                int64_t number, void **kept);

/* The same for a model of its own, with what its interface says of missing data
   and sizes. */
int32_t mp_run(const mp_interface *interface, mp_model body,
               const mp_tensor *inputs, mp_tensor *outputs, void **kept);

/* LLVM's names of conversions to bf16, to the nearest, ties to even, for what
   a processor has no instruction for. Returned as compilers return bf16: the
   lower half of the float. Definitions are weak: compilers may have their own.
 */
float __truncsfbf2(float x);
float __truncdfbf2(double x);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_RUNTIME_COMPILEDCODE_H */
