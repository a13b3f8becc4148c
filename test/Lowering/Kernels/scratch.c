/*===- scratch.c - Memory of threads, for tests of kernels alone ----------===*\
|*                                                                            *|
|* Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.        *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux lets a process use tile registers after it has asked for them. */
__attribute__((constructor)) static void askForTiles(void) {
#if defined(__x86_64__)
  syscall(SYS_arch_prctl, 0x1023, 18);
#endif
}

void *mp_scratch(int32_t slot, int64_t bytes) {
  static __thread struct {
    void *data;
    int64_t bytes;
  } slots[4];
  if (slots[slot].bytes < bytes) {
    free(slots[slot].data);
    slots[slot].bytes = (bytes + 63) & ~(int64_t)63;
    slots[slot].data = aligned_alloc(64, slots[slot].bytes);
  }
  return slots[slot].data;
}
