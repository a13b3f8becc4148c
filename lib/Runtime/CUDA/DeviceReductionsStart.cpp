//===- DeviceReductionsStart.cpp - Forms fused collectives ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceReductions.h"

#include "../CPU/LastError.h"
#include "Session.h"

#include <cstdio>
#include <cstring>

using namespace mp::runtime;

namespace {
/// Shards begin at multiples of this number of elements, which makes transfers
/// fast.
constexpr uint64_t partAlignment = 128;
/// Ordered as Wire.
constexpr const char *wireNames[] = {"f32", "bf16", "f64", "i8"};

Wire getElements(int32_t type) {
  return type == MP_FLOAT    ? Wire::F32
         : type == MP_DOUBLE ? Wire::F64
                             : Wire::I8;
}
} // namespace

//===----------------------------------------------------------------------===//
// Shipments
//===----------------------------------------------------------------------===//

/// Puts a reduction into a shipment that begins at a record.
int32_t DeviceReductions::add(uint64_t trigger, uint32_t number) {
  const PlanView &plan = session.plan;
  const mp_plan_reduction *reductions = plan.getReductions();
  const mp_plan_reduction &one = reductions[number];
  auto hasSameCondition = [&](const mp_plan_reduction &other) {
    if (one.condition == -1 || other.condition == -1)
      return one.condition == other.condition;
    const mp_plan_place *places = plan.getPlaces();
    return session.getAddress(places[one.condition]) ==
           session.getAddress(places[other.condition]);
  };
  isOpen[number] = false;
  // Shipments of the same record are the last ones.
  for (uint64_t index = count;
       index-- > 0 && shipments[index].trigger == trigger;) {
    const Shipment &shipment = shipments[index];
    const mp_plan_reduction &first = reductions[shipment.first];
    if (first.bucket != one.bucket || first.operation != one.operation ||
        first.type != one.type || !hasSameCondition(first))
      continue;
    shipmentOf[number] = static_cast<uint32_t>(index + 1);
    return MP_OK;
  }
  Shipment &shipment = shipments[count++];
  shipmentOf[number] = static_cast<uint32_t>(count);
  shipment.operation = one.operation;
  shipment.elements = shipment.wire = getElements(one.type);
  bool isGradient = one.operation == MP_MEAN || one.operation == MP_SCATTER;
  if (shipment.elements == Wire::F32 &&
      (one.operation == MP_GATHER_BF16 || (isGradient && ranks->is_wire_bf16)))
    shipment.wire = Wire::BF16;
  shipment.trigger = trigger;
  shipment.first = number;
  void **events[] = {&shipment.ready, &shipment.needed, &shipment.resumed,
                     &shipment.begun, &shipment.done};
  for (void **event : events)
    if (int32_t code =
            check(session.driver.cuEventCreate(event, MP_CUDA_EVENT_DEFAULT),
                  "cuEventCreate"))
      return code;
  return MP_OK;
}

int32_t DeviceReductions::addShipments(uint64_t trigger, int32_t bucket) {
  for (uint32_t index = 0; index < session.plan.head->reductions.count; ++index)
    if (isOpen[index] && session.plan.getReductions()[index].bucket == bucket)
      if (int32_t code = add(trigger, index))
        return code;
  return MP_OK;
}

/// A bucket begins when all of its members are ready, or without the rest if
/// one of them is waited for.
int32_t DeviceReductions::makeShipments() {
  const PlanView &plan = session.plan;
  uint64_t total = plan.head->reductions.count;
  Array<int32_t> startedOf;
  if (!shipments.resize(total) || !shipmentOf.resize(total) ||
      !isOpen.resize(total) || !started.resize(total) || !times.resize(total) ||
      !startedOf.resize(total))
    return refuseWith(MP_OUT_OF_MEMORY, "out of memory");
  for (uint64_t index = 0; index < plan.head->records.count; ++index) {
    const mp_plan_record &record = plan.getRecords()[index];
    if (!isReduction(record))
      continue;
    const mp_plan_reduction &one = plan.getReductions()[record.kernel];
    bool isDue = record.kind == MP_RECORD_REDUCE_WAIT;
    if (!isDue) {
      if (isOpen[record.kernel] || shipmentOf[record.kernel])
        return refuseWith(MP_BAD_PLAN,
                          "the plan of the model: a reduction starts twice");
      isOpen[record.kernel] = true;
      // Counts are stored at the first reduction of the bucket.
      uint64_t first = 0;
      while (plan.getReductions()[first].bucket != one.bucket)
        ++first;
      isDue = ++startedOf[first] % one.members == 0;
    }
    if (isDue)
      if (int32_t code = addShipments(index, one.bucket))
        return code;
  }
  return listMembers();
}

int32_t DeviceReductions::listMembers() {
  const PlanView &plan = session.plan;
  uint64_t total = plan.head->reductions.count;
  if (!members.resize(total))
    return refuseWith(MP_OUT_OF_MEMORY, "out of memory");
  // Count the members of each shipment, then compute where they begin.
  for (uint64_t index = 0; index < total; ++index)
    if (uint32_t number = shipmentOf[index])
      ++shipments[number - 1].end;
  uint64_t begin = 0;
  for (uint64_t number = 0; number < count; ++number) {
    Shipment &shipment = shipments[number];
    shipment.begin = begin;
    begin += shipment.end;
    shipment.end = shipment.begin;
  }
  for (uint32_t index = 0; index < total; ++index)
    if (uint32_t number = shipmentOf[index]) {
      Shipment &shipment = shipments[number - 1];
      members[shipment.end++] = index;
      shipment.bytes +=
          plan.getPlaces()[plan.getReductions()[index].memory].bytes;
    }
  return MP_OK;
}

//===----------------------------------------------------------------------===//
// Launch parameters
//===----------------------------------------------------------------------===//

/// Calls `visit` for each piece with its rank, address and number of elements,
/// and its position in the packed elements.
template <typename Function>
void DeviceReductions::forPieces(const Shipment &shipment, Function visit) {
  const PlanView &plan = session.plan;
  uint64_t bytes = getBytes(shipment.elements);
  auto numRanks = static_cast<uint64_t>(ranks->size);
  bool hasRanges = isOfRanges(shipment.operation);
  for (uint64_t rank = 0; rank < (hasRanges ? numRanks : 1); ++rank) {
    uint64_t place = rank * shipment.part;
    for (uint64_t index = shipment.begin; index < shipment.end; ++index) {
      const mp_plan_place &memory =
          plan.getPlaces()[plan.getReductions()[members[index]].memory];
      uint64_t first = 0, last = memory.bytes / bytes, size = last;
      if (hasRanges) {
        first = rank * size / numRanks;
        last = (rank + 1) * size / numRanks;
      }
      if (first != last)
        visit(rank, session.getAddress(memory) + first * bytes, last - first,
              place);
      place += last - first;
    }
  }
}

uint64_t DeviceReductions::writePieces(const Shipment &shipment,
                                       RankLaunch &launch, bool packs,
                                       uint8_t *memory, uint64_t begin) {
  launch.offset = begin;
  launch.rows = launch.longest = 0;
  auto own = static_cast<uint64_t>(ranks->rank);
  bool scatters = shipment.operation == MP_SCATTER;
  uint64_t bytes =
      getBytes(packs || !scatters ? shipment.wire : shipment.elements);
  forPieces(shipment, [&](uint64_t rank, uint64_t address, uint64_t elements,
                          uint64_t place) {
    // A gather packs only the own range and unpacks all others. A scatter
    // unpacks only the own sum, which then lies at the front.
    if (isGather(shipment.operation) && (rank == own) != packs)
      return;
    if (scatters && !packs) {
      if (rank != own)
        return;
      place -= own * shipment.part;
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

uint64_t DeviceReductions::write(Shipment &shipment, uint8_t *memory,
                                 uint64_t begin) {
  begin = writePieces(shipment, shipment.pack, /*packs=*/true, memory, begin);
  begin =
      writePieces(shipment, shipment.unpack, /*packs=*/false, memory, begin);
  shipment.add.offset = begin;
  if (isGather(shipment.operation))
    return begin;
  shipment.add.rows = 1;
  shipment.add.longest = shipment.part;
  auto own = static_cast<uint64_t>(ranks->rank);
  bool scatters = shipment.operation == MP_SCATTER;
  mp_rank_parts parts = {};
  parts.from = received;
  parts.to =
      packed + (scatters ? 0 : own * shipment.part * getBytes(shipment.wire));
  parts.count = parts.stride = shipment.part;
  parts.ranks = static_cast<uint64_t>(ranks->size);
  parts.divides = shipment.operation != MP_SUM;
  if (memory)
    std::memcpy(memory + begin, &parts, sizeof(parts));
  return begin + sizeof(parts);
}

int32_t DeviceReductions::findKernel(RankLaunch &launch, const char *work,
                                     Wire from, Wire to) {
  char name[32];
  std::snprintf(name, sizeof(name), "mp_%s_%s_%s", work,
                wireNames[static_cast<int>(from)],
                wireNames[static_cast<int>(to)]);
  const PlanView &plan = session.plan;
  for (uint64_t index = 0; index < plan.head->kernels.count; ++index) {
    const mp_plan_kernel &kernel = plan.getKernels()[index];
    if (std::strcmp(plan.getText(kernel.name), name) ||
        kernel.parameters != 1 || kernel.threads != MP_RANK_THREADS)
      continue;
    launch.function = session.functions[index];
    return MP_OK;
  }
  return refuseWith(MP_BAD_PLAN, "the plan of the model: it has no kernel %s",
                    name);
}

int32_t DeviceReductions::allocate(mp_device_address &address, uint64_t bytes,
                                   const char *what) {
  int32_t error = session.driver.cuMemAlloc_v2(&address, bytes ? bytes : 1);
  if (!error) {
    session.bytes += bytes;
    ownBytes += bytes;
    return MP_OK;
  }
  address = 0;
  char text[120];
  std::snprintf(text, sizeof(text), "%llu bytes for %s",
                static_cast<unsigned long long>(bytes), what);
  return session.device.fail(error, "cuMemAlloc", text);
}

/// Sets the size of a rank's shard: the longest one for ranges, else an equal
/// share.
void DeviceReductions::setPart(Shipment &shipment) {
  auto numRanks = static_cast<uint64_t>(ranks->size);
  uint64_t part = 0;
  forPieces(shipment,
            [&](uint64_t, uint64_t, uint64_t elements, uint64_t place) {
              if (part < place + elements)
                part = place + elements;
            });
  if (!isOfRanges(shipment.operation))
    part = (part + numRanks - 1) / numRanks;
  shipment.part = (part + partAlignment - 1) / partAlignment * partAlignment;
}

int32_t DeviceReductions::findKernels(Shipment &shipment) {
  Wire elements = shipment.elements, wire = shipment.wire;
  // Scattered sums stay where they are added up, so they keep their exact type.
  Wire sums = shipment.operation == MP_SCATTER ? elements : wire;
  if (int32_t code = findKernel(shipment.pack, "copy", elements, wire))
    return code;
  if (int32_t code = findKernel(shipment.unpack, "copy", sums, elements))
    return code;
  return isGather(shipment.operation)
             ? MP_OK
             : findKernel(shipment.add, "add", wire, sums);
}

int32_t DeviceReductions::makeTables() {
  auto numRanks = static_cast<uint64_t>(ranks->size);
  uint64_t most = 0, bytes = 0;
  for (uint64_t index = 0; index < count; ++index) {
    Shipment &shipment = shipments[index];
    setPart(shipment);
    uint64_t size = numRanks * shipment.part * getBytes(shipment.wire);
    uint64_t sums = shipment.part * getBytes(shipment.elements);
    if (size < sums)
      size = sums;
    if (most < size)
      most = size;
    if (int32_t code = findKernels(shipment))
      return code;
    bytes = write(shipment, nullptr, bytes);
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
    begin = write(shipments[index], written.get(), begin);
  if (!bytes)
    return MP_OK;
  if (int32_t code = check(session.driver.cuMemcpyHtoDAsync_v2(
                               tables, written.get(), bytes, stream),
                           "cuMemcpyHtoDAsync"))
    return code;
  return check(session.driver.cuStreamSynchronize(stream),
               "cuStreamSynchronize");
}

int32_t DeviceReductions::prepare(const mp_device_ranks *given) {
  const mp_driver &driver = session.driver;
  // Memory must not be freed or allocated while work is queued.
  if (int32_t code = check(driver.cuStreamSynchronize(session.stream),
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
    code = makeShipments();
  if (!code)
    code = makeTables();
  // Frees what has been created before the failure.
  if (code)
    destroy();
  return code;
}

void DeviceReductions::destroy() {
  const mp_driver &driver = session.driver;
  if (stream)
    driver.cuStreamSynchronize(stream);
  mp_device_address *addresses[] = {&packed, &received, &tables};
  for (mp_device_address *address : addresses) {
    if (*address)
      driver.cuMemFree_v2(*address);
    *address = 0;
  }
  session.bytes -= ownBytes;
  ownBytes = 0;
  for (uint64_t index = 0; index < count; ++index) {
    const Shipment &one = shipments[index];
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
