/*===- EmulatedCode.h - What emulated kernels call --------------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of lib/Emulation for compiled kernels. `thread` is the calling
// thread. `place` is the number of the text in the kernel's `places` that names
// the instruction: threads that synchronize must be at the same one.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_EMULATION_EMULATEDCODE_H
#define MPOPT_EMULATION_EMULATEDCODE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Data shared by all threads of a block: its sizes, its position in the grid,
   the grid's sizes, and shared memory. */
typedef struct mp_emulated_block {
  uint32_t ntid[3], ctaid[3], nctaid[3], unused;
  void *shared;
} mp_emulated_block;

typedef struct mp_emulated_thread {
  const mp_emulated_block *block;
  uint32_t tid[3], lane, warp, unused;
} mp_emulated_thread;

/* The current thread, which stays the same from a kernel's begin to its end. */
mp_emulated_thread *mp_emulated_this_thread(void);

/* bar.sync of all threads of the block. */
void mp_emulated_barrier(mp_emulated_thread *thread, uint32_t place);
/* Barrier `id` of `count` threads, all if 0; with `waits` = 0, bar.arrive. */
void mp_emulated_named_barrier(mp_emulated_thread *thread, uint32_t place,
                               uint32_t id, uint32_t count, uint32_t waits);

/* bar.warp.sync. */
void mp_emulated_sync_warp(mp_emulated_thread *thread, uint32_t place,
                           uint32_t mask);
/* shfl.sync of 32 bits; `kind` is 0 bfly, 1 up, 2 down, 3 idx. Bit 32 of the
   result is the predicate. */
uint64_t mp_emulated_shuffle(mp_emulated_thread *thread, uint32_t place,
                             uint32_t kind, uint32_t mask, uint32_t value,
                             uint32_t offset, uint32_t clamp);
/* vote.sync; `kind` is 0 any, 1 all, 2 ballot, 3 uni. */
uint32_t mp_emulated_vote(mp_emulated_thread *thread, uint32_t place,
                          uint32_t kind, uint32_t mask, uint32_t predicate);
/* redux.sync; `kind` is 1 add, 2 and, 3 max, 4 min, 5 or, 6 umax, 7 umin,
   8 xor. */
uint32_t mp_emulated_reduce(mp_emulated_thread *thread, uint32_t place,
                            uint32_t kind, uint32_t mask, uint32_t value);
/* match.sync; `kind` is 0 any, 1 all, whose predicate is bit 32. */
uint64_t mp_emulated_match(mp_emulated_thread *thread, uint32_t place,
                           uint32_t kind, uint32_t mask, uint64_t value);
/* elect.sync: 1 in the lowest lane. */
uint32_t mp_emulated_elect(mp_emulated_thread *thread, uint32_t place,
                           uint32_t mask);

/* ldmatrix of `count` (1, 2, 4) matrices of 8 x 8 16-bit elements into as many
   words; `row` is the address of 16 bytes, of the first 8 * count lanes. */
void mp_emulated_load_matrix(mp_emulated_thread *thread, uint32_t place,
                             uint32_t count, uint32_t transposed,
                             const void *row, uint32_t *result);
/* mma.sync with sums in fp32; `kind` is 0 m16n8k16 bf16, 1 m16n8k16 f16,
   2 m16n8k8 tf32. `operands` are the 4 words of a, 2 of b and 4 of c. */
void mp_emulated_multiply(mp_emulated_thread *thread, uint32_t place,
                          uint32_t kind, const uint32_t *operands,
                          float *result);

/* cp.async of `bytes` (4, 8, 16), of which `used` are read and the others
   zeros. */
void mp_emulated_copy(mp_emulated_thread *thread, uint32_t place, void *to,
                      const void *from, uint32_t bytes, uint32_t used);
void mp_emulated_commit(mp_emulated_thread *thread);
/* Waits until at most `count` groups are open. */
void mp_emulated_wait(mp_emulated_thread *thread, uint32_t place,
                      uint32_t count);

/* Inserted by `mp-emulate-kernels=check-races` before accesses to shared
   memory. */
void mp_emulated_read(mp_emulated_thread *thread, uint32_t place,
                      const void *data, uint64_t bytes);
void mp_emulated_write(mp_emulated_thread *thread, uint32_t place,
                       const void *data, uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_EMULATION_EMULATEDCODE_H */
