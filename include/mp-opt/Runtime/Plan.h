/*===- Plan.h - What a device does in a call of a model ---------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is one block of bytes at an address that is a multiple of 8: mp_plan,
// then the tables and texts that it refers to by offsets from its begin.
// Numbers are little-endian. Nothing in it is an address, so it is written to
// files and into libraries as it is; mp_check_plan tells whether bytes are one.
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
/* Of the form below; other versions are refused. */
#define MP_PLAN_VERSION 5
/* Buffers, and what is in the arena, are at multiples of this. */
#define MP_PLAN_ALIGNMENT 256
/* The memory that the run time and kernels share (Device.td says what is where)
   is so many words of 64 bits. */
#define MP_PLAN_CONTROL_WORDS 8
enum {
  MP_CONTROL_CALL = 0,
  MP_CONTROL_FAILED = 1,
  MP_CONTROL_ERROR = 2,
  MP_CONTROL_FIRST = 3,
  MP_CONTROL_SECOND = 4
};
/* Threads that a block may have, and its most in each direction; blocks in a
   grid in each direction: on every device. */
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
  /* Of the whole plan. */
  uint64_t bytes;
  uint64_t arena_bytes;
  /* mp_plan_buffer: what the caller gives, what it gets, and the model's
     constants, which the caller has. */
  mp_plan_table inputs, outputs, constants;
  mp_plan_table images;     /* mp_plan_image */
  mp_plan_table kernels;    /* mp_plan_kernel */
  mp_plan_table records;    /* mp_plan_record, in the order of the call */
  mp_plan_table places;     /* mp_plan_place, that records refer to */
  mp_plan_table reductions; /* mp_plan_reduction, that records refer to */
  mp_plan_table
      errors; /* uint64_t: texts, counted by MP_CONTROL_ERROR from 1 */
  /* char: all texts, each with a zero behind it, the first one empty. A text is
     its offset in this table. */
  mp_plan_table texts;
  /* char: contents of images. */
  mp_plan_table contents;
} mp_plan;

typedef struct mp_plan_buffer {
  uint64_t bytes;
  uint64_t name; /* text; empty for constants */
  /* Of an output, the input that it is written over; else -1. */
  int64_t state;
} mp_plan_buffer;

enum {
  /* PTX with a zero behind it, which the driver compiles for its device. */
  MP_IMAGE_PTX = 0,
  /* Machine code. */
  MP_IMAGE_CUBIN = 1,
  /* No content: functions of the host that whoever loads the plan has. */
  MP_IMAGE_EMULATED = 2
};

typedef struct mp_plan_image {
  uint32_t kind;
  /* Of the least device: 10 * major + minor compute capability. With
     `is_specific` (the `a` of sm_90a), of the only one. 0 if emulated. */
  uint32_t architecture;
  uint32_t is_specific;
  /* Of PTX, 10 * major + minor version. */
  uint32_t ptx_version;
  /* The image, a smaller number, whose kernels these are as well, made for
     other devices: one of the two is loaded. -1 if kernels refer to this one.
   */
  int32_t instead_of;
  uint32_t reserved;
  /* In the plan's contents; the zero behind PTX counts. */
  uint64_t offset;
  uint64_t bytes;
} mp_plan_image;

typedef struct mp_plan_kernel {
  uint64_t name; /* text */
  uint32_t image;
  /* The most threads of a block, and bytes of dynamic shared memory, of all
     launches. */
  uint32_t threads;
  uint32_t shared;
  /* All are pointers. */
  uint32_t parameters;
} mp_plan_kernel;

enum {
  MP_SPACE_ARENA = 0,
  MP_SPACE_INPUT = 1,
  MP_SPACE_OUTPUT = 2,
  MP_SPACE_CONSTANT = 3,
  MP_SPACE_CONTROL = 4
};

/* Memory from `offset` on, of which `bytes` are used. Of an output that is
   written over a state, the place is that of the input. */
typedef struct mp_plan_place {
  uint32_t space;
  /* Of the input, output or constant; else 0. */
  uint32_t index;
  uint64_t offset;
  uint64_t bytes;
} mp_plan_place;

enum {
  MP_RECORD_LAUNCH = 0,
  MP_RECORD_COPY = 1,
  MP_RECORD_FILL = 2,
  /* Hands memory to what other ranks make of it, and gets it back: the
     functions of mp_set_collectives. Without ranks, nothing is done. */
  MP_RECORD_REDUCE_START = 3,
  MP_RECORD_REDUCE_WAIT = 4
};

typedef struct mp_plan_reduction {
  int32_t bucket, members;
  /* Of an mp_member (Runtime.h). */
  int32_t operation, type;
  /* Places: what is handed over, and a byte that is 0 where nothing is to be
     done; -1: there is none. */
  uint64_t memory;
  int64_t condition;
} mp_plan_reduction;

/* Kernels of RankKernels.def, which a plan with reductions has for ranks that
   reduce on their devices. Each has one parameter, the address of one of the
   following or, of mp_rank_piece, of as many as a launch has rows of blocks
   (its grid's second size). A row of blocks, of MP_RANK_THREADS threads each,
   shares out the elements. */
#define MP_RANK_THREADS 256
typedef struct mp_rank_piece {
  /* Addresses on the device, and elements. */
  uint64_t from, to, count;
} mp_rank_piece;
typedef struct mp_rank_parts {
  /* Those of rank r are from `from` + r * `stride` elements on. The sums begin
     with +0 and go in the order of ranks. */
  uint64_t from, to, count;
  uint64_t stride, ranks;
  /* Not 0 for means: sums are divided by the number of ranks. */
  uint64_t divides;
} mp_rank_parts;

typedef struct mp_plan_record {
  uint32_t kind;
  /* Of a launch, its kernel; of a start or wait, its reduction; else 0. */
  uint32_t kernel;
  uint32_t grid[3], block[3];
  uint32_t shared;
  /* Of a fill: the bytes of a value, 1, 2 or 4, and the value. */
  uint32_t value_bytes;
  uint32_t value;
  /* Places: of a launch its parameters, of a copy the source and the target,
     of a fill the target, of a reduction none. */
  uint32_t num_places;
  /* Of a launch: not 0 if it is no part of a call, but runs in front of the
     next one where an input that an output is written over has been set. */
  uint32_t when_set;
  uint32_t reserved;
  uint64_t first_place;
  uint64_t node; /* text: of the model's graph, for messages; may be empty */
} mp_plan_record;

/* Null if the bytes are a plan that may be run; else what is wrong with them,
   in a text that lasts. */
const char *mp_check_plan(const void *bytes, uint64_t size);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_RUNTIME_PLAN_H */
