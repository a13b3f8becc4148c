/*===- Emulator.h - Kernels without a GPU -----------------------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs kernels of CUDA's model that mp-emulate-kernels has made code of this
// processor. The library needs libc and pthreads.
//
// It is strict where hardware is lenient: shared memory is NaNs when a block
// starts, what cp.async copies arrives when it is waited for and not before,
// and barriers, masks, alignments and bounds are checked. It does not show
// timing, weak memory order, or how tensor cores round sums.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_EMULATION_EMULATOR_H
#define MPOPT_EMULATION_EMULATOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a kernel does, as bits of `flags`. */
enum {
  /* Its threads meet: barriers, shuffles, products. */
  MP_EMULATED_MEETS = 1,
  /* It has shared memory. */
  MP_EMULATED_SHARES = 2,
  /* Its accesses to shared memory are looked at: races are found. */
  MP_EMULATED_CHECKED = 4
};

/* An entry of the table that mp-emulate-kernels writes. */
typedef struct mp_emulated_kernel {
  const char *name;
  /* `parameters` points to the parameters' addresses, as in cuLaunchKernel. */
  void (*code)(void **parameters);
  /* How many parameters there are. */
  uint32_t parameters;
  /* Bytes of static shared memory; dynamic one begins behind it, at the next
     multiple of 1024. */
  uint32_t static_shared;
  /* The most threads of a block that it is made for; 0 if it does not say. */
  uint32_t max_threads;
  uint32_t flags;
  /* The only sizes of a block that it is made for; zeros if it does not say. */
  uint32_t block[3];
  /* Pairs of offset and size: bytes of static shared memory that belong to no
     variable. */
  uint32_t num_gaps;
  const uint32_t *gaps;
  /* Texts, one behind the other: where in the kernels each instruction stands
     that the library is told about. */
  const char *places;
} mp_emulated_kernel;

/* The table of a module, which its code defines. */
extern const mp_emulated_kernel mp_emulated_kernels[];
extern const uint32_t mp_emulated_kernel_count;

/* What all launches of this process have done. */
typedef struct mp_emulation_figures {
  uint64_t launches, blocks, threads;
  /* Barriers that all threads have reached, operations of warps, and of these
     the products of matrices. */
  uint64_t barriers, collectives, products;
} mp_emulation_figures;

/* Runs all blocks of a launch, one after the other: 0, or -1 with a text in
   mp_emulation_error(), which says the kernel, and the block and the thread if
   one of them is at fault; what other blocks and threads have written until
   then stays. Launches from several threads take turns. `dynamic_shared` is in
   bytes. An access to other memory than the parameters' ends the process, as
   elsewhere. */
int32_t mp_emulate_launch(const mp_emulated_kernel *kernel,
                          const uint32_t grid[3], const uint32_t block[3],
                          uint32_t dynamic_shared, void **parameters);

/* What went wrong in this thread's last launch; empty if nothing did. */
const char *mp_emulation_error(void);

mp_emulation_figures mp_emulation_counts(void);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_EMULATION_EMULATOR_H */
