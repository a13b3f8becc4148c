//===- PlanView.h - The tables of a plan ------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RUNTIME_PLANVIEW_H
#define MPOPT_RUNTIME_PLANVIEW_H

#include "mp-opt/Runtime/Plan.h"
#include "mp-opt/Runtime/Runtime.h"

namespace mp::runtime {

/// The size of an element of a reduction; 0 for types that ranks do not reduce.
inline uint64_t getElementBytes(int32_t type) {
  switch (type) {
  case MP_FLOAT:
    return 4;
  case MP_BOOL:
    return 1;
  case MP_DOUBLE:
    return 8;
  default:
    return 0;
  }
}

/// True for records that the host executes between launches.
inline bool isReduction(const mp_plan_record &record) {
  return record.kind == MP_RECORD_REDUCE_START ||
         record.kind == MP_RECORD_REDUCE_WAIT;
}

/// The tables of a plan whose bytes mp_check_plan has accepted.
struct PlanView {
  const mp_plan *head;

  const mp_plan_buffer *getInputs() const {
    return get<mp_plan_buffer>(head->inputs);
  }
  const mp_plan_buffer *getOutputs() const {
    return get<mp_plan_buffer>(head->outputs);
  }
  const mp_plan_buffer *getConstants() const {
    return get<mp_plan_buffer>(head->constants);
  }
  const mp_plan_image *getImages() const {
    return get<mp_plan_image>(head->images);
  }
  const mp_plan_kernel *getKernels() const {
    return get<mp_plan_kernel>(head->kernels);
  }
  const mp_plan_record *getRecords() const {
    return get<mp_plan_record>(head->records);
  }
  const mp_plan_place *getPlaces() const {
    return get<mp_plan_place>(head->places);
  }
  const mp_plan_reduction *getReductions() const {
    return get<mp_plan_reduction>(head->reductions);
  }
  /// The memory of each member.
  const mp_plan_place *getMembers(const mp_plan_reduction &reduction) const {
    return getPlaces() + reduction.first_member;
  }
  /// The total size of the members, in bytes.
  uint64_t getBytes(const mp_plan_reduction &reduction) const {
    uint64_t bytes = 0;
    for (uint32_t member = 0; member < reduction.num_members; ++member)
      bytes += getMembers(reduction)[member].bytes;
    return bytes;
  }
  const uint64_t *getErrors() const { return get<uint64_t>(head->errors); }
  const char *getText(uint64_t text) const {
    return get<char>(head->texts) + text;
  }
  const char *getContent(const mp_plan_image &image) const {
    return get<char>(head->contents) + image.offset;
  }

  /// Resolves a place to actual memory: for an output that is written over an
  /// input, the memory of that input.
  mp_plan_place resolve(mp_plan_place place) const {
    if (place.space != MP_SPACE_OUTPUT || getOutputs()[place.index].state < 0)
      return place;
    place.index = static_cast<uint32_t>(getOutputs()[place.index].state);
    place.space = MP_SPACE_INPUT;
    return place;
  }

private:
  template <typename T> const T *get(const mp_plan_table &table) const {
    return reinterpret_cast<const T *>(reinterpret_cast<const char *>(head) +
                                       table.offset);
  }
};

} // namespace mp::runtime

#endif // MPOPT_RUNTIME_PLANVIEW_H
