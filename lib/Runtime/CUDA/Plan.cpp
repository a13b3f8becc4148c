//===- Plan.cpp - Validates plans -----------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans may come from files and are not trusted. The rest of the run time
// relies on the checks in this file.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Runtime/PlanView.h"

#include <cstddef>
#include <cstring>

using namespace mp::runtime;

namespace {

/// Sums of a few sizes below this bound do not overflow.
constexpr uint64_t maxBytes = uint64_t(1) << 56;

class Checker {
public:
  Checker(const void *bytes, uint64_t size)
      : size(size), plan{static_cast<const mp_plan *>(bytes)} {}

  const char *check() const;

private:
  const char *checkHead() const;
  const char *checkBuffers() const;
  const char *checkImages() const;
  const char *checkKernels() const;
  const char *checkRecord(const mp_plan_record &record) const;
  const char *checkLaunch(const mp_plan_record &record) const;
  const char *checkCopy(const mp_plan_record &record) const;
  const char *checkReduction(const mp_plan_reduction &reduction) const;
  const char *checkReductions() const;

  bool isTable(const mp_plan_table &table, uint64_t entryBytes) const {
    return table.offset % 8 == 0 && table.offset >= sizeof(mp_plan) &&
           table.offset <= size &&
           table.count <= (size - table.offset) / entryBytes;
  }
  bool isText(uint64_t text) const { return text < plan.head->texts.count; }
  bool isPlace(const mp_plan_place &place) const;

  uint64_t size;
  PlanView plan;
};

} // namespace

const char *Checker::checkHead() const {
  if (size < sizeof(mp_plan) ||
      reinterpret_cast<uintptr_t>(plan.head) % alignof(mp_plan) != 0 ||
      plan.head->magic != MP_PLAN_MAGIC)
    return "it is not a plan";
  const mp_plan &head = *plan.head;
  if (head.version != MP_PLAN_VERSION)
    return "it is of another version";
  if (head.bytes != size)
    return "it is not whole";
  if (!isTable(head.inputs, sizeof(mp_plan_buffer)) ||
      !isTable(head.outputs, sizeof(mp_plan_buffer)) ||
      !isTable(head.constants, sizeof(mp_plan_buffer)) ||
      !isTable(head.images, sizeof(mp_plan_image)) ||
      !isTable(head.kernels, sizeof(mp_plan_kernel)) ||
      !isTable(head.records, sizeof(mp_plan_record)) ||
      !isTable(head.places, sizeof(mp_plan_place)) ||
      !isTable(head.reductions, sizeof(mp_plan_reduction)) ||
      !isTable(head.errors, sizeof(uint64_t)) || !isTable(head.texts, 1) ||
      !isTable(head.contents, 1))
    return "a table is not in it";
  // The last byte is zero, so all texts are terminated.
  const char *texts = plan.getText(0);
  if (!head.texts.count || texts[0] || texts[head.texts.count - 1])
    return "its texts have no end";
  for (uint64_t index = 0; index < head.errors.count; ++index)
    if (!isText(plan.getErrors()[index]))
      return "a text is not in it";
  return nullptr;
}

const char *Checker::checkBuffers() const {
  const mp_plan &head = *plan.head;
  uint64_t total = head.arena_bytes;
  if (total >= maxBytes)
    return "the arena is too big";
  struct {
    const mp_plan_buffer *buffers;
    uint64_t count;
    bool hasStates;
  } lists[] = {{plan.getInputs(), head.inputs.count, false},
               {plan.getOutputs(), head.outputs.count, true},
               {plan.getConstants(), head.constants.count, false}};
  for (auto &list : lists)
    for (uint64_t index = 0; index < list.count; ++index) {
      const mp_plan_buffer &buffer = list.buffers[index];
      if (buffer.bytes >= maxBytes || (total += buffer.bytes) >= maxBytes)
        return "a buffer is too big";
      if (!isText(buffer.name))
        return "a text is not in it";
      if (buffer.state == -1)
        continue;
      if (!list.hasStates || buffer.state < 0 ||
          uint64_t(buffer.state) >= head.inputs.count ||
          plan.getInputs()[buffer.state].bytes != buffer.bytes)
        return "an output is written over an input that it does not fit";
    }
  return nullptr;
}

const char *Checker::checkImages() const {
  const mp_plan &head = *plan.head;
  for (uint64_t index = 0; index < head.images.count; ++index) {
    const mp_plan_image &image = plan.getImages()[index];
    if (image.kind > MP_IMAGE_EMULATED)
      return "an image is of no known kind";
    if (image.instead_of != -1 &&
        (image.instead_of < 0 || uint64_t(image.instead_of) >= index ||
         plan.getImages()[image.instead_of].instead_of != -1))
      return "an image stands for none";
    if (image.offset > head.contents.count ||
        image.bytes > head.contents.count - image.offset)
      return "an image is not in it";
    const char *content = plan.getContent(image);
    if (image.kind == MP_IMAGE_PTX &&
        (!image.bytes ||
         std::memchr(content, 0, image.bytes) != content + image.bytes - 1))
      return "its PTX has no end";
    if (image.kind == MP_IMAGE_CUBIN && !image.bytes)
      return "an image is empty";
  }
  return nullptr;
}

const char *Checker::checkKernels() const {
  const mp_plan &head = *plan.head;
  for (uint64_t index = 0; index < head.kernels.count; ++index) {
    const mp_plan_kernel &kernel = plan.getKernels()[index];
    if (!isText(kernel.name))
      return "a text is not in it";
    if (kernel.image >= head.images.count ||
        plan.getImages()[kernel.image].instead_of != -1)
      return "a kernel is in no image";
    if (kernel.threads > MP_PLAN_MAX_THREADS)
      return "a kernel has too many threads";
  }
  return nullptr;
}

bool Checker::isPlace(const mp_plan_place &place) const {
  const mp_plan &head = *plan.head;
  uint64_t bytes = 0;
  if (place.space == MP_SPACE_ARENA)
    bytes = head.arena_bytes;
  else if (place.space == MP_SPACE_CONTROL)
    bytes = MP_PLAN_CONTROL_WORDS * sizeof(int64_t);
  else if (place.space == MP_SPACE_INPUT && place.index < head.inputs.count)
    bytes = plan.getInputs()[place.index].bytes;
  else if (place.space == MP_SPACE_OUTPUT && place.index < head.outputs.count)
    bytes = plan.getOutputs()[place.index].bytes;
  else if (place.space == MP_SPACE_CONSTANT &&
           place.index < head.constants.count)
    bytes = plan.getConstants()[place.index].bytes;
  else
    return false;
  return place.offset <= bytes && place.bytes <= bytes - place.offset;
}

const char *Checker::checkLaunch(const mp_plan_record &record) const {
  if (record.kernel >= plan.head->kernels.count)
    return "a launch is of no kernel";
  const mp_plan_kernel &kernel = plan.getKernels()[record.kernel];
  if (record.num_places != kernel.parameters)
    return "a launch has not the parameters of its kernel";
  uint64_t threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    uint64_t maxBlocks = axis == 0 ? INT32_MAX : 65535;
    uint64_t maxThreads = axis == 2 ? 64 : MP_PLAN_MAX_THREADS;
    if (!record.grid[axis] || record.grid[axis] > maxBlocks ||
        !record.block[axis] || record.block[axis] > maxThreads)
      return "a launch has a size of grid or block that devices have not";
    threads *= record.block[axis];
  }
  if (threads > kernel.threads || record.shared > kernel.shared)
    return "a launch has more threads or shared memory than its kernel says";
  return nullptr;
}

const char *Checker::checkCopy(const mp_plan_record &record) const {
  if (record.num_places != 2)
    return "a copy has no two places";
  const mp_plan_place *places = plan.getPlaces() + record.first_place;
  mp_plan_place from = plan.resolve(places[0]), to = plan.resolve(places[1]);
  if (from.bytes != to.bytes)
    return "a copy has two sizes";
  if (from.space == to.space && from.index == to.index &&
      from.offset < to.offset + to.bytes &&
      to.offset < from.offset + from.bytes)
    return "a copy is over itself";
  return nullptr;
}

const char *Checker::checkReduction(const mp_plan_reduction &reduction) const {
  uint64_t numPlaces = plan.head->places.count;
  uint64_t element = getElementBytes(reduction.type);
  if (!element || reduction.operation < MP_MEAN ||
      reduction.operation > MP_GATHER_BF16 || !reduction.num_members)
    return "a reduction is of no known kind";
  if (reduction.first_member > numPlaces ||
      reduction.num_members > numPlaces - reduction.first_member)
    return "a reduction leaves the memory that there is";
  for (uint32_t index = 0; index < reduction.num_members; ++index) {
    const mp_plan_place &member = plan.getMembers(reduction)[index];
    if (!isPlace(member))
      return "a reduction leaves the memory that there is";
    if (member.bytes % element)
      return "a reduction does not fit its memory";
  }
  if (reduction.condition == -1)
    return nullptr;
  auto number = static_cast<uint64_t>(reduction.condition);
  if (number >= numPlaces || !isPlace(plan.getPlaces()[number]))
    return "a reduction leaves the memory that there is";
  return plan.getPlaces()[number].bytes == 1
             ? nullptr
             : "a reduction does not fit its memory";
}

/// Each reduction starts once, in order, and is awaited after that.
const char *Checker::checkReductions() const {
  const mp_plan &head = *plan.head;
  for (uint64_t index = 0; index < head.reductions.count; ++index)
    if (const char *found = checkReduction(plan.getReductions()[index]))
      return found;
  uint64_t started = 0;
  for (uint64_t index = 0; index < head.records.count; ++index) {
    const mp_plan_record &record = plan.getRecords()[index];
    if (!isReduction(record))
      continue;
    if (record.kernel >= head.reductions.count || record.num_places)
      return "a start or wait is of no reduction";
    if (record.kind == MP_RECORD_REDUCE_START && record.kernel != started++)
      return "a reduction starts twice, or before another one";
    if (record.kernel >= started)
      return "a wait is before its start";
  }
  return nullptr;
}

const char *Checker::checkRecord(const mp_plan_record &record) const {
  const mp_plan &head = *plan.head;
  if (!isText(record.node))
    return "a text is not in it";
  if (record.first_place > head.places.count ||
      record.num_places > head.places.count - record.first_place)
    return "a record's places are not in it";
  for (uint32_t index = 0; index < record.num_places; ++index)
    if (!isPlace(plan.getPlaces()[record.first_place + index]))
      return "a record leaves the memory that there is";
  if (record.kind == MP_RECORD_LAUNCH)
    return checkLaunch(record);
  if (record.when_set)
    return "a record for states that are set is not a launch";
  if (record.kind == MP_RECORD_COPY)
    return checkCopy(record);
  if (isReduction(record))
    return nullptr;
  if (record.kind != MP_RECORD_FILL)
    return "a record is of no known kind";
  uint32_t bytes = record.value_bytes;
  if (record.num_places != 1 || (bytes != 1 && bytes != 2 && bytes != 4))
    return "a fill has no target or value";
  const mp_plan_place &target = plan.getPlaces()[record.first_place];
  if (target.offset % bytes || target.bytes % bytes)
    return "a fill does not fit its target";
  return nullptr;
}

const char *Checker::check() const {
  const char *wrong = checkHead();
  wrong = wrong ? wrong : checkBuffers();
  wrong = wrong ? wrong : checkImages();
  wrong = wrong ? wrong : checkKernels();
  wrong = wrong ? wrong : checkReductions();
  if (wrong)
    return wrong;
  for (uint64_t index = 0; index < plan.head->records.count; ++index)
    if (const char *found = checkRecord(plan.getRecords()[index]))
      return found;
  return nullptr;
}

const char *mp_check_plan(const void *bytes, uint64_t size) {
  return Checker(bytes, size).check();
}
