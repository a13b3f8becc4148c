//===- Memory.cpp - Memory of the emulated device -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace mp::emulation;

/// Addresses are multiples of this.
static constexpr uint64_t alignment = 256;
/// The initial content of memory: NaNs for floats of any size. Bytes after the
/// end of a block must keep it.
static constexpr unsigned char fresh = 0xff;

static uint64_t roundUp(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

int32_t Memory::allocate(uint64_t bytes, uint64_t limit,
                         mp_device_address &address) {
  if (!bytes)
    return complain(MP_CUDA_INVALID_VALUE, "found 0 bytes");
  if (bytes > limit || used > limit - bytes)
    return complain(MP_CUDA_OUT_OF_MEMORY, "out of memory");
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  Block block = {bytes, roundUp(bytes, alignment), nullptr, 0};
  block.pageBytes = roundUp(block.rounded, page) + 2 * page;
  void *pages = mmap(nullptr, block.pageBytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED)
    return complain(MP_CUDA_OUT_OF_MEMORY, "the host is out of memory");
  block.pages = static_cast<char *>(pages);
  char *begin = block.pages + block.pageBytes - page - block.rounded;
  address = reinterpret_cast<uintptr_t>(begin);
  protect(block, address, PROT_READ | PROT_WRITE);
  std::memset(begin, fresh, block.rounded);
  protect(block, address, PROT_NONE);
  blocks[address] = block;
  used += bytes;
  return 0;
}

int32_t Memory::free(mp_device_address address) {
  auto found = blocks.find(address);
  if (found == blocks.end())
    return complain(MP_CUDA_INVALID_VALUE, "it was not allocated");
  munmap(found->second.pages, found->second.pageBytes);
  used -= found->second.bytes;
  blocks.erase(found);
  return 0;
}

uint64_t Memory::getBytesBehind(mp_device_address address) const {
  auto next = blocks.upper_bound(address);
  if (next == blocks.begin())
    return 0;
  const auto &[begin, block] = *--next;
  uint64_t offset = address - begin;
  return offset < block.bytes ? block.bytes - offset : 0;
}

bool Memory::contains(mp_device_address address, uint64_t bytes) const {
  return bytes && bytes <= getBytesBehind(address);
}

void Memory::protect(const Block &block, mp_device_address address, int flags) {
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t begin = address / page * page;
  mprotect(reinterpret_cast<void *>(begin), address + block.rounded - begin,
           flags);
}

void Memory::open() {
  for (auto &[address, block] : blocks)
    protect(block, address, PROT_READ | PROT_WRITE);
}

void Memory::close() {
  for (auto &[address, block] : blocks)
    protect(block, address, PROT_NONE);
}

bool Memory::isWhole() const {
  for (auto &[address, block] : blocks) {
    const auto *begin = reinterpret_cast<const unsigned char *>(address);
    if (!std::all_of(begin + block.bytes, begin + block.rounded,
                     [](unsigned char byte) { return byte == fresh; }))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

int32_t MP_EMULATED(cuMemGetInfo_v2)(size_t *unused, size_t *total) {
  Call call(Call::Context, "cuMemGetInfo");
  if (call.error)
    return call.error;
  uint64_t memory = call.state.device.memory;
  *total = memory;
  *unused = memory - std::min(memory, call.state.memory.getUsed());
  return 0;
}

int32_t MP_EMULATED(cuMemAlloc_v2)(mp_device_address *address, size_t bytes) {
  Call call(Call::Context, "cuMemAlloc %zu", bytes);
  if (call.error)
    return call.error;
  if (int32_t error = checkQuiet(call.state, "cuMemAlloc"))
    return error;
  return call.state.memory.allocate(bytes, call.state.device.memory, *address);
}

int32_t MP_EMULATED(cuMemFree_v2)(mp_device_address address) {
  Call call(Call::Context, "cuMemFree");
  // A context that has failed still frees its memory, but returns its error.
  if (call.error && call.error != call.state.sticky)
    return call.error;
  if (!call.error)
    call.error = checkQuiet(call.state, "cuMemFree");
  if (call.error && call.error != call.state.sticky)
    return call.error;
  int32_t error = call.state.memory.free(address);
  return call.error ? call.error : error;
}

int32_t MP_EMULATED(cuMemAllocHost_v2)(void **memory, size_t bytes) {
  Call call(Call::Context, "cuMemAllocHost %zu", bytes);
  if (call.error)
    return call.error;
  if (!bytes)
    return complain(MP_CUDA_INVALID_VALUE, "found 0 bytes");
  if (call.state.isRecording())
    return checkQuiet(call.state, "cuMemAllocHost");
  *memory = std::malloc(bytes);
  if (!*memory)
    return complain(MP_CUDA_OUT_OF_MEMORY, "the host is out of memory");
  call.state.hostMemory[static_cast<char *>(*memory)] = bytes;
  return 0;
}

int32_t MP_EMULATED(cuMemFreeHost)(void *memory) {
  Call call(Call::Context, "cuMemFreeHost");
  if (call.error && call.error != call.state.sticky)
    return call.error;
  if (!call.state.hostMemory.erase(static_cast<char *>(memory)))
    return complain(MP_CUDA_INVALID_VALUE, "it was not allocated");
  std::free(memory);
  return call.error;
}

static int32_t checkCopy(State &state, mp_device_address address, size_t bytes,
                         const char *what) {
  if (state.memory.contains(address, bytes))
    return 0;
  return complain(MP_CUDA_INVALID_VALUE,
                  "%s of %zu bytes leaves the memory of the device", what,
                  bytes);
}

/// True if all of it is pinned memory of the host.
static bool isPinned(const State &state, const void *memory, size_t bytes) {
  auto *address = const_cast<char *>(static_cast<const char *>(memory));
  auto next = state.hostMemory.upper_bound(address);
  if (next == state.hostMemory.begin())
    return false;
  const auto &[begin, size] = *--next;
  auto offset = static_cast<size_t>(address - begin);
  return offset <= size && bytes <= size - offset;
}

int32_t MP_EMULATED(cuMemcpyHtoDAsync_v2)(mp_device_address to,
                                          const void *from, size_t bytes,
                                          void *stream) {
  Call call(Call::Context, "cuMemcpyHtoDAsync %zu", bytes);
  if (call.error)
    return call.error;
  if (call.state.isRecording())
    return checkQuiet(call.state, "a copy from the host");
  if (int32_t error = checkCopy(call.state, to, bytes, "a copy to the device"))
    return error;
  if (isPinned(call.state, from, bytes))
    writeLog("  from pinned memory");
  return add(call.state, stream, [=] {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return 0;
  });
}

int32_t MP_EMULATED(cuMemcpyDtoHAsync_v2)(void *to, mp_device_address from,
                                          size_t bytes, void *stream) {
  Call call(Call::Context, "cuMemcpyDtoHAsync %zu", bytes);
  if (call.error)
    return call.error;
  if (call.state.isRecording())
    return checkQuiet(call.state, "a copy to the host");
  if (int32_t error =
          checkCopy(call.state, from, bytes, "a copy from the device"))
    return error;
  return add(call.state, stream, [=] {
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return 0;
  });
}

int32_t MP_EMULATED(cuMemcpyDtoDAsync_v2)(mp_device_address to,
                                          mp_device_address from, size_t bytes,
                                          void *stream) {
  Call call(Call::Context, "cuMemcpyDtoDAsync %zu", bytes);
  if (call.error)
    return call.error;
  int32_t error = checkCopy(call.state, to, bytes, "a copy on the device");
  if (!error)
    error = checkCopy(call.state, from, bytes, "a copy on the device");
  if (!error && from < to + bytes && to < from + bytes)
    error = complain(MP_CUDA_INVALID_VALUE,
                     "a copy of %zu bytes is over itself", bytes);
  if (error)
    return error;
  return add(call.state, stream, [=] {
    std::memcpy(reinterpret_cast<void *>(to),
                reinterpret_cast<const void *>(from), bytes);
    return 0;
  });
}

template <typename T>
static int32_t set(mp_device_address to, T value, size_t count, void *stream) {
  Call call(Call::Context, "cuMemsetD%zuAsync %zu", 8 * sizeof(T), count);
  if (call.error)
    return call.error;
  if (to % sizeof(T))
    return complain(MP_CUDA_INVALID_VALUE, "a memset of misaligned memory");
  if (count > SIZE_MAX / sizeof(T))
    count = SIZE_MAX / sizeof(T);
  if (int32_t error = checkCopy(call.state, to, count * sizeof(T), "a memset"))
    return error;
  return add(call.state, stream, [=] {
    std::fill_n(reinterpret_cast<T *>(to), count, value);
    return 0;
  });
}

int32_t MP_EMULATED(cuMemsetD8Async)(mp_device_address to, uint8_t value,
                                     size_t count, void *stream) {
  return set(to, value, count, stream);
}

int32_t MP_EMULATED(cuMemsetD16Async)(mp_device_address to, uint16_t value,
                                      size_t count, void *stream) {
  return set(to, value, count, stream);
}

int32_t MP_EMULATED(cuMemsetD32Async)(mp_device_address to, uint32_t value,
                                      size_t count, void *stream) {
  return set(to, value, count, stream);
}
