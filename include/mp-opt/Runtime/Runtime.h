/*===- Runtime.h - What compiled models call and are called by --*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The run-time library of models that mp-opt compiles: one pool of threads,
// memory, and errors. It needs libc, libm and pthreads.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_RUNTIME_RUNTIME_H
#define MPOPT_RUNTIME_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor in a call: row-major elements, at an address that is a multiple of
   their size. `sizes` has one entry for each dimension; the rank is the
   model's. */
typedef struct mp_tensor {
  void *data;
  int64_t *sizes;
} mp_tensor;

enum {
  MP_OK = 0,
  /* An input has other sizes than the model takes. */
  MP_BAD_INPUT = 1,
  /* A value that the model computed is out of range: an index, a size. */
  MP_BAD_VALUE = 2,
  MP_OUT_OF_MEMORY = 3
};

/* A compiled model. Outputs whose `data` is null get memory from the library
   (mp_release); others must have room for what the model yields, and `sizes`
   is written in either case. */
typedef int32_t (*mp_model)(const mp_tensor *inputs, mp_tensor *outputs);

/* What went wrong in the last call of a model in this thread; empty after a
   call that returned MP_OK. */
const char *mp_last_error(void);

/* Threads that models use, the caller's included. Results do not depend on
   it. 0 stands for one per processor, which is the default. */
void mp_set_threads(int32_t count);
int32_t mp_get_threads(void);

void mp_release(void *data);

/* The largest number of bytes that models had allocated at one time, without
   inputs and outputs; the second call starts anew. */
int64_t mp_peak_bytes(void);
void mp_reset_peak(void);

/*===----------------------------------------------------------------------===//
// Called by compiled code only.
//===----------------------------------------------------------------------===*/

typedef void (*mp_body)(void *frame, int64_t begin, int64_t end);

/* Calls `body` for ranges that make up [0, count), in any order. */
void mp_parallel_for(int64_t count, int64_t grain, mp_body body, void *frame);

/* Memory at a multiple of 64; never null: failure ends the call. */
void *mp_allocate(int64_t bytes);
void mp_free(void *data);
/* Scratch of the calling thread, kept between calls; `slot` is 0 to 3. */
void *mp_scratch(int32_t slot, int64_t bytes);

/* The memory of an output: `*data`, or new memory that the caller gets. */
void *mp_output(void **data, int64_t bytes);

/* Ends the call from the thread that made it. `text` may contain `%0` and
   `%1`, which stand for the numbers. */
void mp_fail(int32_t code, const char *text, int64_t a, int64_t b);
/* Makes the call fail in the end; from any thread. Of several, that with the
   smallest text and numbers counts. */
void mp_report(int32_t code, const char *text, int64_t a, int64_t b);

/* Runs `body` under the handlers that mp_fail and mp_report need. */
int32_t mp_call(int32_t (*body)(const mp_tensor *, mp_tensor *),
                const mp_tensor *inputs, mp_tensor *outputs);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_RUNTIME_RUNTIME_H */
