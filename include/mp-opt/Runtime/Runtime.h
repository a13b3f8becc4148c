/*===- Runtime.h - Compiled models, as their users see them -----*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declarations shared by the headers of all models (`mp-opt --emit=lib`). The
// run-time library needs libc and pthreads; models also need libm.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_RUNTIME_RUNTIME_H
#define MPOPT_RUNTIME_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor in a call: row-major elements, at an address that is a multiple of
   their size. `sizes` has one entry for each dimension; it may be null if the
   model knows all of them. */
typedef struct mp_tensor {
  void *data;
  int64_t *sizes;
} mp_tensor;

/* The description of an input or output of a model. */
typedef struct mp_value {
  const char *name;
  /* The element type, numbered as in ONNX: 1 float, 2 uint8, 3 int8, 4 uint16,
     5 int16, 6 int32, 7 int64, 9 bool, 10 fp16, 11 double, 12 uint32, 13
     uint64, 16 bf16. */
  int32_t type;
  int32_t rank;
  /* -1 if a size is known only in a call. */
  const int64_t *sizes;
  /* For an input: the data used in calls that pass none; or null. */
  const void *initial;
  /* For an output: the input whose next value it is; else -1. */
  int32_t state;
  /* For an input: 1 if a call writes the next value over it. */
  int32_t written;
} mp_value;

typedef struct mp_interface {
  int32_t num_inputs, num_outputs;
  const mp_value *inputs, *outputs;
  /* The number of the next call. Random numbers are a function of it: calls
     with the same number draw the same ones. */
  int64_t *calls;
} mp_interface;

enum {
  MP_OK = 0,
  /* An input is missing, or has sizes that the model does not take. */
  MP_BAD_INPUT = 1,
  /* A value that the model computed is out of range: an index, a size. */
  MP_BAD_VALUE = 2,
  MP_OUT_OF_MEMORY = 3,
  /* For models on devices: there is no driver or device, or none that can run
     the model. */
  MP_NO_DEVICE = 4,
  /* The driver has refused a call, or a kernel has failed. */
  MP_DEVICE_FAILED = 5,
  /* Other ranks of a distributed step cannot be reached. */
  MP_RANKS_FAILED = 6
};

/* A compiled model. Returns one of the codes above. Inputs without data use the
   data of the interface. Outputs with null `data` get memory from the library
   (mp_release); others must have enough memory for the result. `sizes` is
   written in either case. An output that is written over an input has that
   input's `data` afterwards, and must not be released. Concurrent calls from
   several threads are safe. */
typedef int32_t (*mp_model)(const mp_tensor *inputs, mp_tensor *outputs);

/* The error of the last call of a model in this thread; empty after a call that
   returned MP_OK. */
const char *mp_last_error(void);

/* Sets the number of threads that models use, including the caller. Results do
   not depend on it. 0, the default, means one per processor that the process
   may use, by its affinity and, on Linux, by the quotas of its control groups
   (rounded up). More threads than that are not used: mp_get_threads returns the
   number in use. Processors are counted in the first call, and again after
   mp_set_threads. */
void mp_set_threads(int32_t count);
int32_t mp_get_threads(void);

/* Collectives for steps of data-parallel training (mp-opt --distribute): all
   ranks call the same functions in the same order. Both return 0, or fail the
   call of the model with the text of `error`. `start` adds memory as one of the
   members of a bucket, and returns at once. When the last member is added, the
   operation may begin. Until `wait` for the bucket returns, the model does not
   access the memory. Members of a bucket have the same operation and type, and
   are added one right after the other; only a single member has rows. */
typedef enum mp_operation {
  /* Elements become their mean over all ranks; bools become true if they are
     true on all ranks. */
  MP_MEAN = 0,
  MP_SUM = 1,
  /* The mean, but only of a rank's own range: of n elements, rank r of N owns
     those from r n / N up to, but not including, (r + 1) n / N, both rounded
     down. The other elements are undefined afterwards. */
  MP_SCATTER = 2,
  /* Each range is replaced by that of the rank that owns it. */
  MP_GATHER = 3,
  /* As MP_GATHER, but rounded to bf16, except for the rank's own range. */
  MP_GATHER_BF16 = 4
} mp_operation;

/* The type of reduced elements, numbered as in mp_value. */
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
  /* If `size` is nonzero, the memory has that many rows, and `rows` lists the
     indices of nonzero rows; others need not be sent. Negative indices count
     from the end, and an index may occur twice. The list is valid until `start`
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

/* Sets the collectives for all models of this process; the structure is not
   copied. Null, the default, means a single rank, which keeps its values. No
   model may run at the same time. */
void mp_set_collectives(const mp_collectives *collectives);

void mp_release(void *data);

/* The largest number of bytes that models had allocated at one time, without
   inputs and outputs. mp_reset_peak restarts the measurement. */
int64_t mp_peak_bytes(void);
void mp_reset_peak(void);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_RUNTIME_RUNTIME_H */
