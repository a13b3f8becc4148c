/*===- Emulator.h - Kernels without a GPU -----------------------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs kernels of CUDA's model that mp-emulate-kernels has compiled for this
// processor. The library needs libc and pthreads.
//
// It is stricter than hardware: shared memory contains NaNs when a block
// starts, copies by cp.async complete only when they are waited for, and
// barriers, masks, alignments and bounds are checked. It does not model timing,
// weak memory order, or the rounding of sums in tensor cores.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_EMULATION_EMULATOR_H
#define MPOPT_EMULATION_EMULATOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Properties of a kernel, as bits of `flags`. */
enum {
  /* Its threads synchronize: barriers, shuffles, products. */
  MP_EMULATED_SYNCHRONIZES = 1,
  /* It uses shared memory. */
  MP_EMULATED_SHARES = 2,
  /* Its accesses to shared memory are checked for races. */
  MP_EMULATED_CHECKED = 4
};

/* An entry of the table that mp-emulate-kernels writes. */
typedef struct mp_emulated_kernel {
  const char *name;
  /* `parameters` points to the parameters' addresses, as in cuLaunchKernel. */
  void (*code)(void **parameters);
  /* The number of parameters. */
  uint32_t parameters;
  /* Bytes of static shared memory. Dynamic memory begins after it, at the next
     multiple of 1024. */
  uint32_t static_shared;
  /* The maximum threads of a block that it supports; 0 if not specified. */
  uint32_t max_threads;
  uint32_t flags;
  /* The only sizes of a block that it supports; zeros if not specified. */
  uint32_t block[3];
  /* Pairs of offset and size: bytes of static shared memory that belong to no
     variable. */
  uint32_t num_gaps;
  const uint32_t *gaps;
  /* Texts, one after the other: the locations of all instructions that call the
     emulator. */
  const char *places;
} mp_emulated_kernel;

/* The table of a module, defined by its code. */
extern const mp_emulated_kernel mp_emulated_kernels[];
extern const uint32_t mp_emulated_kernel_count;

/* Counts over all launches of this process. */
typedef struct mp_emulation_figures {
  uint64_t launches, blocks, threads;
  /* Barriers that all threads have reached, operations of warps, and those of
     them that are products of matrices. */
  uint64_t barriers, collectives, products;
} mp_emulation_figures;

/* Runs all blocks of a launch, one after the other. Returns 0, or -1 with a
   text in mp_emulation_error() that names the kernel, and the block and thread
   if one of them is at fault. Memory written by other blocks and threads until
   then stays. Launches from several threads are serialized. `dynamic_shared` is
   in bytes. An access outside of the parameters' memory ends the process, as
   elsewhere. */
int32_t mp_emulate_launch(const mp_emulated_kernel *kernel,
                          const uint32_t grid[3], const uint32_t block[3],
                          uint32_t dynamic_shared, void **parameters);

/* The error of this thread's last launch; empty if there was none. */
const char *mp_emulation_error(void);

mp_emulation_figures mp_emulation_counts(void);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_EMULATION_EMULATOR_H */
