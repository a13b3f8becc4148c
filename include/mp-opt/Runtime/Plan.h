/*===- Plan.h - What a device does in a call of a model ---------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is one block of bytes at an address that is a multiple of 8: mp_plan,
// followed by the tables and texts that it refers to by offsets from its begin.
// Numbers are little-endian. It contains no addresses, so it can be stored in
// files and libraries unchanged; mp_check_plan validates it.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_RUNTIME_PLAN_H
#define MPOPT_RUNTIME_PLAN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "mp-plan\n" as a number. */
#define MP_PLAN_MAGIC UINT64_C(0x0a6e616c702d706d)
/* The version of the format below; other versions are refused. */
#define MP_PLAN_VERSION 6
/* The alignment of buffers and of memory in the arena. */
#define MP_PLAN_ALIGNMENT 256
/* The size, in words of 64 bits, of the memory shared by the run time and
   kernels (Device.td describes its layout). */
#define MP_PLAN_CONTROL_WORDS 8
enum {
  MP_CONTROL_CALL = 0,
  MP_CONTROL_FAILED = 1,
  MP_CONTROL_ERROR = 2,
  MP_CONTROL_FIRST = 3,
  MP_CONTROL_SECOND = 4
};
/* Limits that hold on every device: the threads of a block in all and in each
   direction, and the blocks of a grid in each direction. */
#define MP_PLAN_MAX_THREADS 1024

/* A table of `count` entries at `offset`, a multiple of 8. */
typedef struct mp_plan_table {
  uint64_t offset;
  uint64_t count;
} mp_plan_table;

typedef struct mp_plan {
  uint64_t magic;
  uint32_t version;
  uint32_t reserved;
  /* The size of the whole plan. */
  uint64_t bytes;
  uint64_t arena_bytes;
  /* mp_plan_buffer: inputs and outputs of the caller, and constants of the
     model, which the caller provides. */
  mp_plan_table inputs, outputs, constants;
  mp_plan_table images;     /* mp_plan_image */
  mp_plan_table kernels;    /* mp_plan_kernel */
  mp_plan_table records;    /* mp_plan_record, in the order of the call */
  mp_plan_table places;     /* mp_plan_place, that records refer to */
  mp_plan_table reductions; /* mp_plan_reduction, that records refer to */
  mp_plan_table
      errors; /* uint64_t: texts, counted by MP_CONTROL_ERROR from 1 */
  /* char: all texts, each terminated by a zero, the first one empty. A text is
     identified by its offset in this table. */
  mp_plan_table texts;
  /* char: the contents of images. */
  mp_plan_table contents;
} mp_plan;

typedef struct mp_plan_buffer {
  uint64_t bytes;
  uint64_t name; /* text; empty for constants */
  /* For an output: the input that it is written over; else -1. */
  int64_t state;
} mp_plan_buffer;

enum {
  /* PTX terminated by a zero, which the driver compiles for its device. */
  MP_IMAGE_PTX = 0,
  /* Machine code. */
  MP_IMAGE_CUBIN = 1,
  /* No content: functions of the host, provided by the caller that loads the
     plan. */
  MP_IMAGE_EMULATED = 2
};

typedef struct mp_plan_image {
  uint32_t kind;
  /* The oldest supported device: 10 * major + minor compute capability. With
     `is_specific` (the `a` of sm_90a), the only supported device. 0 if
     emulated. */
  uint32_t architecture;
  uint32_t is_specific;
  /* 10 * major + minor version of PTX. */
  uint32_t ptx_version;
  /* The number of an earlier image with the same kernels, made for other
     devices: one of the two is loaded. -1 if kernels refer to this one. */
  int32_t instead_of;
  uint32_t reserved;
  /* The range in the plan's contents, including the zero after PTX. */
  uint64_t offset;
  uint64_t bytes;
} mp_plan_image;

typedef struct mp_plan_kernel {
  uint64_t name; /* text */
  uint32_t image;
  /* The maximum threads of a block, and maximum bytes of dynamic shared memory,
     of all launches. */
  uint32_t threads;
  uint32_t shared;
  /* The number of parameters, all of which are pointers. */
  uint32_t parameters;
} mp_plan_kernel;

enum {
  MP_SPACE_ARENA = 0,
  MP_SPACE_INPUT = 1,
  MP_SPACE_OUTPUT = 2,
  MP_SPACE_CONSTANT = 3,
  MP_SPACE_CONTROL = 4
};

/* Memory from `offset` on, of which `bytes` are used. For an output that is
   written over a state, it is the memory of the input. */
typedef struct mp_plan_place {
  uint32_t space;
  /* The number of the input, output or constant; else 0. */
  uint32_t index;
  uint64_t offset;
  uint64_t bytes;
} mp_plan_place;

enum {
  MP_RECORD_LAUNCH = 0,
  MP_RECORD_COPY = 1,
  MP_RECORD_FILL = 2,
  /* Start a reduction of memory over ranks, and wait for its result: the
     functions of mp_set_collectives. Without ranks, nothing is done. Each
     reduction starts once, in the order of their table. */
  MP_RECORD_REDUCE_START = 3,
  MP_RECORD_REDUCE_WAIT = 4
};

/* A collective operation on all members of a bucket, which are of one kind. */
typedef struct mp_plan_reduction {
  int32_t bucket;
  /* As in mp_member (Runtime.h). */
  int32_t operation, type;
  uint32_t num_members;
  /* Numbers of places: the memory of the first member, after which that of the
     others follows, and a byte that is 0 to skip the reduction, or -1 if there
     is none. */
  uint64_t first_member;
  int64_t condition;
} mp_plan_reduction;

/* Kernels of RankKernels.def, which a plan with reductions contains for ranks
   that reduce on their devices. Each has one parameter: the address of one of
   the following structures or, for mp_rank_piece, of an array with one entry
   per row of blocks (the second size of the grid). The elements are divided
   among the blocks of a row, with MP_RANK_THREADS threads each. */
#define MP_RANK_THREADS 256
typedef struct mp_rank_piece {
  /* Addresses on the device, and the number of elements. */
  uint64_t from, to, count;
} mp_rank_piece;
typedef struct mp_rank_parts {
  /* The elements of rank r begin at `from` + r * `stride` elements. Sums begin
     with +0 and follow the order of ranks. */
  uint64_t from, to, count;
  uint64_t stride, ranks;
  /* Nonzero for means: sums are divided by the number of ranks. */
  uint64_t divides;
} mp_rank_parts;

typedef struct mp_plan_record {
  uint32_t kind;
  /* The kernel of a launch; the reduction of a start or wait; else 0. */
  uint32_t kernel;
  uint32_t grid[3], block[3];
  uint32_t shared;
  /* For a fill: the size of a value, 1, 2 or 4, and the value. */
  uint32_t value_bytes;
  uint32_t value;
  /* Places: the parameters of a launch, the source and the target of a copy, or
     the target of a fill; none for a reduction. */
  uint32_t num_places;
  /* For a launch: nonzero if it is not part of a call, but runs before the next
     one if an input that an output is written over has been set. */
  uint32_t when_set;
  uint32_t reserved;
  uint64_t first_place;
  uint64_t node; /* text: of the model's graph, for messages; may be empty */
} mp_plan_record;

/* Returns null if the bytes are a valid plan; else a description of the error,
   which is never freed. */
const char *mp_check_plan(const void *bytes, uint64_t size);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_RUNTIME_PLAN_H */
