/*===- Runtime.h - Compiled models, as their users see them -----*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one model's header (`mp-opt --emit=lib`) and another's have in common.
// The library behind it needs libc and pthreads, the models libm besides.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_RUNTIME_RUNTIME_H
#define MPOPT_RUNTIME_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor in a call: row-major elements, at an address that is a multiple of
   their size. `sizes` has one entry for each dimension; it may be null where
   the model knows all of them. */
typedef struct mp_tensor {
  void *data;
  int64_t *sizes;
} mp_tensor;

/* What a model says of one of its inputs or outputs. */
typedef struct mp_value {
  const char *name;
  /* As in ONNX: 1 float, 2 uint8, 3 int8, 4 uint16, 5 int16, 6 int32, 7 int64,
     9 bool, 10 fp16, 11 double, 12 uint32, 13 uint64, 16 bf16. */
  int32_t type;
  int32_t rank;
  /* -1 where a size is known only in a call. */
  const int64_t *sizes;
  /* Of an input, what stands for it in a call that gives no data; or null. */
  const void *initial;
  /* Of an output, the input that it is the next value of; else -1. */
  int32_t state;
  /* Of an input, 1 if a call writes the next value over it. */
  int32_t written;
} mp_value;

typedef struct mp_interface {
  int32_t num_inputs, num_outputs;
  const mp_value *inputs, *outputs;
  /* The number of the next call. Random numbers are a function of it: a call
     with the same number has the same ones. */
  int64_t *calls;
} mp_interface;

enum {
  MP_OK = 0,
  /* An input is missing, or has other sizes than the model takes. */
  MP_BAD_INPUT = 1,
  /* A value that the model computed is out of range: an index, a size. */
  MP_BAD_VALUE = 2,
  MP_OUT_OF_MEMORY = 3,
  /* Of models on devices: there is no driver or device, or none that can run
     the model. */
  MP_NO_DEVICE = 4,
  /* The driver refuses something, or a kernel has failed. */
  MP_DEVICE_FAILED = 5,
  /* Other ranks of a distributed step cannot be reached. */
  MP_RANKS_FAILED = 6
};

/* A compiled model: one of the codes above. Inputs without data take what the
   interface has for them. Outputs whose `data` is null get memory from the
   library (mp_release); others must have room for what the model yields, and
   `sizes` is written in either case. An output that is written over an input
   has that input's `data` afterwards, and is not released. Calls from several
   threads at a time are safe. */
typedef int32_t (*mp_model)(const mp_tensor *inputs, mp_tensor *outputs);

/* What went wrong in the last call of a model in this thread; empty after a
   call that returned MP_OK. */
const char *mp_last_error(void);

/* Threads that models use, the caller's included. Results do not depend on
   it. 0, which is the default, stands for one per processor that the process
   may use, by its affinity and, on Linux, by the quotas of its control groups
   (half a processor is one). More than these gain nothing: mp_get_threads says
   how many are in use. They are counted in the first call, and again after
   mp_set_threads. */
void mp_set_threads(int32_t count);
int32_t mp_get_threads(void);

/* What steps for data-parallel training (mp-opt --distribute) call: each rank
   calls the same functions in the same order. Both return 0, or fail the call
   of the model with `error`'s text.
   `start` is given memory that is one member of a bucket, of so many. It
   returns at once; when the last member is there, the operation may begin, and
   until `wait` for the bucket returns, the model leaves the memory alone. */
typedef enum mp_operation {
  /* Elements become their mean over all ranks; bools true
     where they are so on all. */
  MP_MEAN = 0,
  MP_SUM = 1,
  /* The mean, but of a rank's own range only: of n elements, rank r of N has
     those from r n / N on and in front of (r + 1) n / N, both rounded down. The
     others are of no use afterwards. */
  MP_SCATTER = 2,
  /* Each range becomes what the rank has that owns it. */
  MP_GATHER = 3,
  /* The same rounded to bf16, but for the rank's own. */
  MP_GATHER_BF16 = 4
} mp_operation;

/* What is reduced, as mp_value numbers types. */
typedef enum mp_reduced_type {
  MP_FLOAT = 1,
  MP_BOOL = 9,
  MP_DOUBLE = 11
} mp_reduced_type;

typedef struct mp_member {
  /* An mp_operation and an mp_reduced_type. */
  int32_t operation, type;
  void *data;
  int64_t count;
  /* Where `size` is not 0, the memory has so many rows, and these are indices
     of those that are not zero: others need not travel. Negative ones count
     from the end, and an index may come twice. They are good until `start`
     returns. */
  const int64_t *rows;
  int64_t num_rows, size;
} mp_member;

typedef struct mp_collectives {
  void *context;
  int32_t (*start)(void *context, int32_t bucket, int32_t members,
                   const mp_member *member);
  int32_t (*wait)(void *context, int32_t bucket);
  const char *(*error)(void *context);
} mp_collectives;

/* Of this process, for all its models; it is not copied. Null, the default,
   stands for one rank, which has what it has. No model runs meanwhile. */
void mp_set_collectives(const mp_collectives *collectives);

void mp_release(void *data);

/* The largest number of bytes that models had allocated at one time, without
   inputs and outputs; the second call starts anew. */
int64_t mp_peak_bytes(void);
void mp_reset_peak(void);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_RUNTIME_RUNTIME_H */
