//===- DeviceReductionsStart.cpp - Prepares reductions on devices ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceReductions.h"

#include "../../CPU/LastError.h"

#include <cstdio>
#include <cstring>

using namespace mp::runtime;

namespace {
/// Shards begin at multiples of this number of elements, which makes transfers
/// fast.
constexpr uint64_t shardAlignment = 128;
/// Ordered as WireType.
constexpr const char *wireTypeNames[] = {"f32", "bf16", "f64", "i8"};

WireType getWireType(int32_t type) {
  return type == MP_FLOAT    ? WireType::F32
         : type == MP_DOUBLE ? WireType::F64
                             : WireType::I8;
}
} // namespace

//===----------------------------------------------------------------------===//
// Fused collectives
//===----------------------------------------------------------------------===//

int32_t DeviceReductions::makeCollectives() {
  uint64_t total = loaded.plan.head->reductions.count;
  if (!collectives.resize(total) || !started.resize(total) ||
      !times.resize(total))
    return refuseWith(MP_OUT_OF_MEMORY, "out of memory");
  while (count < total) {
    FusedCollective &fused = collectives[count++];
    const mp_plan_reduction &reduction = getReduction(fused);
    fused.operation = reduction.operation;
    fused.elementType = fused.wireType = getWireType(reduction.type);
    bool isGradient =
        fused.operation == MP_MEAN || fused.operation == MP_SCATTER;
    if (fused.elementType == WireType::F32 &&
        (fused.operation == MP_GATHER_BF16 ||
         (isGradient && ranks->is_wire_bf16)))
      fused.wireType = WireType::BF16;
    void **events[] = {&fused.ready, &fused.needed, &fused.resumed,
                       &fused.begun, &fused.done};
    for (void **event : events)
      if (int32_t code =
              check(loaded.driver.cuEventCreate(event, MP_CUDA_EVENT_DEFAULT),
                    "cuEventCreate"))
        return code;
  }
  return MP_OK;
}

//===----------------------------------------------------------------------===//
// Launch parameters
//===----------------------------------------------------------------------===//

/// Calls `visit` for each segment of a member with its rank, address and number
/// of elements, and its position in the packed elements.
template <typename Function>
void DeviceReductions::forSegments(const FusedCollective &fused,
                                   Function visit) {
  const mp_plan_reduction &reduction = getReduction(fused);
  uint64_t bytes = getBytes(fused.elementType);
  auto numRanks = static_cast<uint64_t>(ranks->size);
  bool hasRanges = isOfRanges(fused.operation);
  for (uint64_t rank = 0; rank < (hasRanges ? numRanks : 1); ++rank) {
    uint64_t place = rank * fused.shardSize;
    for (uint32_t index = 0; index < reduction.num_members; ++index) {
      const mp_plan_place &memory = loaded.plan.getMembers(reduction)[index];
      uint64_t first = 0, last = memory.bytes / bytes, size = last;
      if (hasRanges) {
        first = rank * size / numRanks;
        last = (rank + 1) * size / numRanks;
      }
      if (first != last)
        visit(rank, loaded.getAddress(memory) + first * bytes, last - first,
              place);
      place += last - first;
    }
  }
}

uint64_t DeviceReductions::writeSegments(const FusedCollective &fused,
                                         RankLaunch &launch, bool packs,
                                         uint8_t *memory, uint64_t begin) {
  launch.offset = begin;
  launch.rows = launch.longest = 0;
  auto own = static_cast<uint64_t>(ranks->rank);
  bool scatters = fused.operation == MP_SCATTER;
  uint64_t bytes =
      getBytes(packs || !scatters ? fused.wireType : fused.elementType);
  forSegments(fused, [&](uint64_t rank, uint64_t address, uint64_t elements,
                         uint64_t place) {
    // A gather packs only the own range and unpacks all others. A scatter
    // unpacks only the own sum, which then lies at the front.
    if (isGather(fused.operation) && (rank == own) != packs)
      return;
    if (scatters && !packs) {
      if (rank != own)
        return;
      place -= own * fused.shardSize;
    }
    uint64_t there = packed + place * bytes;
    if (memory) {
      mp_rank_piece piece = {packs ? address : there, packs ? there : address,
                             elements};
      std::memcpy(memory + begin, &piece, sizeof(piece));
    }
    begin += sizeof(mp_rank_piece);
    ++launch.rows;
    if (launch.longest < elements)
      launch.longest = elements;
  });
  return begin;
}

uint64_t DeviceReductions::write(FusedCollective &fused, uint8_t *memory,
                                 uint64_t begin) {
  begin = writeSegments(fused, fused.pack, /*packs=*/true, memory, begin);
  begin = writeSegments(fused, fused.unpack, /*packs=*/false, memory, begin);
  fused.add.offset = begin;
  if (isGather(fused.operation))
    return begin;
  fused.add.rows = 1;
  fused.add.longest = fused.shardSize;
  auto own = static_cast<uint64_t>(ranks->rank);
  bool scatters = fused.operation == MP_SCATTER;
  mp_rank_parts parts = {};
  parts.from = received;
  parts.to = packed +
             (scatters ? 0 : own * fused.shardSize * getBytes(fused.wireType));
  parts.count = parts.stride = fused.shardSize;
  parts.ranks = static_cast<uint64_t>(ranks->size);
  parts.divides = fused.operation != MP_SUM;
  if (memory)
    std::memcpy(memory + begin, &parts, sizeof(parts));
  return begin + sizeof(parts);
}

int32_t DeviceReductions::findKernel(RankLaunch &launch, const char *work,
                                     WireType from, WireType to) {
  char name[32];
  std::snprintf(name, sizeof(name), "mp_%s_%s_%s", work,
                wireTypeNames[static_cast<int>(from)],
                wireTypeNames[static_cast<int>(to)]);
  const PlanView &plan = loaded.plan;
  for (uint64_t index = 0; index < plan.head->kernels.count; ++index) {
    const mp_plan_kernel &kernel = plan.getKernels()[index];
    if (std::strcmp(plan.getText(kernel.name), name) ||
        kernel.parameters != 1 || kernel.threads != MP_RANK_THREADS)
      continue;
    launch.function = loaded.functions[index];
    return MP_OK;
  }
  return refuseWith(MP_BAD_PLAN, "the plan of the model: it has no kernel %s",
                    name);
}

int32_t DeviceReductions::allocate(mp_device_address &address, uint64_t bytes,
                                   const char *what) {
  int32_t error = loaded.driver.cuMemAlloc_v2(&address, bytes ? bytes : 1);
  if (!error) {
    loaded.bytes += bytes;
    ownBytes += bytes;
    return MP_OK;
  }
  address = 0;
  char text[120];
  std::snprintf(text, sizeof(text), "%llu bytes for %s",
                static_cast<unsigned long long>(bytes), what);
  return loaded.device.fail(error, "cuMemAlloc", text);
}

/// Sets the size of a rank's shard: the longest one for ranges, else an equal
/// share.
void DeviceReductions::setShardSize(FusedCollective &fused) {
  auto numRanks = static_cast<uint64_t>(ranks->size);
  uint64_t shardSize = 0;
  forSegments(fused,
              [&](uint64_t, uint64_t, uint64_t elements, uint64_t place) {
                if (shardSize < place + elements)
                  shardSize = place + elements;
              });
  if (!isOfRanges(fused.operation))
    shardSize = (shardSize + numRanks - 1) / numRanks;
  fused.shardSize =
      (shardSize + shardAlignment - 1) / shardAlignment * shardAlignment;
}

int32_t DeviceReductions::findKernels(FusedCollective &fused) {
  WireType elementType = fused.elementType, wireType = fused.wireType;
  // Scattered sums stay where they are added up, so they keep their exact type.
  WireType sums = fused.operation == MP_SCATTER ? elementType : wireType;
  if (int32_t code = findKernel(fused.pack, "copy", elementType, wireType))
    return code;
  if (int32_t code = findKernel(fused.unpack, "copy", sums, elementType))
    return code;
  return isGather(fused.operation)
             ? MP_OK
             : findKernel(fused.add, "add", wireType, sums);
}

int32_t DeviceReductions::makeTables() {
  auto numRanks = static_cast<uint64_t>(ranks->size);
  uint64_t most = 0, bytes = 0;
  for (uint64_t index = 0; index < count; ++index) {
    FusedCollective &fused = collectives[index];
    setShardSize(fused);
    uint64_t size = numRanks * fused.shardSize * getBytes(fused.wireType);
    uint64_t sums = fused.shardSize * getBytes(fused.elementType);
    if (size < sums)
      size = sums;
    if (most < size)
      most = size;
    if (int32_t code = findKernels(fused))
      return code;
    bytes = write(fused, nullptr, bytes);
  }
  if (int32_t code = allocate(packed, most, "what ranks send"))
    return code;
  if (int32_t code = allocate(received, most, "what ranks receive"))
    return code;
  if (int32_t code = allocate(tables, bytes, "where members of buckets are"))
    return code;
  if (!written.resize(bytes))
    return refuseWith(MP_OUT_OF_MEMORY, "out of memory");
  uint64_t begin = 0;
  for (uint64_t index = 0; index < count; ++index)
    begin = write(collectives[index], written.get(), begin);
  if (!bytes)
    return MP_OK;
  if (int32_t code = check(loaded.driver.cuMemcpyHtoDAsync_v2(
                               tables, written.get(), bytes, stream),
                           "cuMemcpyHtoDAsync"))
    return code;
  return check(loaded.driver.cuStreamSynchronize(stream),
               "cuStreamSynchronize");
}

int32_t DeviceReductions::prepare(const mp_device_ranks *given) {
  const mp_driver &driver = loaded.driver;
  // Memory must not be freed or allocated while work is queued.
  if (int32_t code = check(driver.cuStreamSynchronize(loaded.stream),
                           "cuStreamSynchronize"))
    return code;
  destroy();
  if (!given)
    return MP_OK;
  ranks = given;
  int32_t code =
      check(driver.cuStreamCreate(&stream, MP_CUDA_STREAM_NON_BLOCKING),
            "cuStreamCreate");
  if (!code)
    code = check(driver.cuEventCreate(&beginning, MP_CUDA_EVENT_DEFAULT),
                 "cuEventCreate");
  if (!code)
    code = makeCollectives();
  if (!code)
    code = makeTables();
  // Frees what has been created before the failure.
  if (code)
    destroy();
  return code;
}

void DeviceReductions::destroy() {
  const mp_driver &driver = loaded.driver;
  if (stream)
    driver.cuStreamSynchronize(stream);
  mp_device_address *addresses[] = {&packed, &received, &tables};
  for (mp_device_address *address : addresses) {
    if (*address)
      driver.cuMemFree_v2(*address);
    *address = 0;
  }
  loaded.bytes -= ownBytes;
  ownBytes = 0;
  for (uint64_t index = 0; index < count; ++index) {
    const FusedCollective &one = collectives[index];
    void *events[] = {one.ready, one.needed, one.resumed, one.begun, one.done};
    for (void *event : events)
      if (event)
        driver.cuEventDestroy_v2(event);
  }
  count = numStarted = numDone = 0;
  if (beginning)
    driver.cuEventDestroy_v2(beginning);
  if (stream)
    driver.cuStreamDestroy_v2(stream);
  stream = beginning = nullptr;
  ranks = nullptr;
}
