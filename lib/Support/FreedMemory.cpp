//===- FreedMemory.cpp - Memory of a finished phase -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/FreedMemory.h"

#include <cstddef>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/// Control of jemalloc, in programs that are linked with it.
extern "C" __attribute__((weak)) int mallctl(const char *name, void *oldValue,
                                             size_t *oldSize, void *newValue,
                                             size_t newSize);

namespace mp {

void returnFreedMemory() {
  if (mallctl) {
    // 4096 stands for all arenas (MALLCTL_ARENAS_ALL).
    mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
    mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);
    return;
  }
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

} // namespace mp
