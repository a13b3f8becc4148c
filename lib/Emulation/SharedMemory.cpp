//===- SharedMemory.cpp - Shared memory of a block ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared memory ends shortly before an inaccessible page. The bytes before it,
// after it up to the page, and between its variables must not change.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace mp::emulation {

namespace {

/// Bytes that must not change, on either side.
constexpr size_t margin = 1024;
constexpr size_t alignment = sharedAlignment;

/// The accessible memory before the last page.
char *begin = nullptr, *end = nullptr;

bool reserve() {
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t bytes =
      (maxShared + 2 * margin + 2 * alignment + page - 1) / page * page;
  void *memory = mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  begin = static_cast<char *>(memory);
  end = begin + bytes;
  return mprotect(end, page, PROT_NONE) == 0;
}

char *getShared() { return static_cast<char *>(machine.block.shared); }

uint32_t getDynamicBegin() {
  return machine.sharedBytes - machine.dynamicShared;
}

/// Checks that these bytes are unchanged, else sets an error.
bool check(ptrdiff_t from, ptrdiff_t to) {
  const char *data = getShared();
  for (ptrdiff_t at = from; at < to; ++at) {
    if (data[at] == '\xff')
      continue;
    setError(
        nullptr, noPlace,
        "found a write to byte %td of shared memory, where no variable is: "
        "the block has %u bytes of static shared memory%s and %u of "
        "dynamic from byte %u on",
        at, machine.kernel->static_shared,
        machine.kernel->num_gaps ? ", which has gaps," : "",
        machine.dynamicShared, getDynamicBegin());
    return false;
  }
  return true;
}

} // namespace

bool prepareShared() {
  if (!begin && !reserve()) {
    begin = nullptr;
    return false;
  }
  size_t bytes = (machine.sharedBytes + alignment - 1) / alignment * alignment;
  machine.block.shared = end - margin - bytes;
  return true;
}

void clearShared() {
  char *from = getShared() - margin;
  memset(from, 0xff, static_cast<size_t>(end - from));
}

bool checkShared() {
  const mp_emulated_kernel &kernel = *machine.kernel;
  if (!check(-static_cast<ptrdiff_t>(margin), 0) ||
      !check(kernel.static_shared, getDynamicBegin()) ||
      !check(machine.sharedBytes, end - getShared()))
    return false;
  for (uint32_t gap = 0; gap < kernel.num_gaps; ++gap) {
    uint32_t from = kernel.gaps[2 * gap];
    if (!check(from, from + kernel.gaps[2 * gap + 1]))
      return false;
  }
  return true;
}

void checkBounds(Fiber &fiber, uint32_t place, const void *data, uint64_t bytes,
                 const char *what) {
  const mp_emulated_kernel &kernel = *machine.kernel;
  // Compare addresses as numbers, since the pointer may be invalid.
  uint64_t address = reinterpret_cast<uintptr_t>(data);
  uint64_t first = address - reinterpret_cast<uintptr_t>(getShared());
  uint64_t dynamic = getDynamicBegin(), total = machine.sharedBytes;
  bool isInside = bytes <= total && first <= total - bytes &&
                  (first >= dynamic || first + bytes <= kernel.static_shared);
  for (uint32_t gap = 0; isInside && gap < kernel.num_gaps; ++gap) {
    uint32_t from = kernel.gaps[2 * gap];
    isInside =
        first >= from + kernel.gaps[2 * gap + 1] || first + bytes <= from;
  }
  if (!isInside)
    fail(fiber, place,
         "%s %llu bytes at byte %lld of shared memory, expected static shared "
         "memory (%u bytes) or dynamic (%u bytes from byte %u on)",
         what, static_cast<unsigned long long>(bytes),
         static_cast<long long>(first), kernel.static_shared,
         machine.dynamicShared, getDynamicBegin());
}

} // namespace mp::emulation
