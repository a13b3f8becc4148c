//===- Session.h - A plan on a device ----------------------------*- C++ -*===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_CUDA_SESSION_H
#define MPOPT_LIB_RUNTIME_CUDA_SESSION_H

#include "Collectives/DeviceReductions.h"
#include "LaunchTimes.h"
#include "NextInputs.h"

namespace mp::runtime {

constexpr uint64_t controlBytes = MP_PLAN_CONTROL_WORDS * sizeof(int64_t);

/// Launches and copies of a call as one graph, followed by reductions. Their
/// starts come before their waits.
struct Piece {
  void *graph = nullptr, *executable = nullptr;
  uint64_t firstReduction = 0, end = 0;
};

} // namespace mp::runtime

struct mp_session : mp::runtime::LoadedPlan {
  using LoadedPlan::LoadedPlan;

  int32_t create(const mp_session_options &options);
  void destroy();
  int32_t set(uint32_t input, const void *data);
  /// Makes buffers and kernels for reductions by the ranks that are set.
  int32_t prepareReductions();
  int32_t run(int64_t number);
  int32_t get(mp_device_address from, uint64_t bytes, void *to,
              const char *name);
  int32_t wait();

  /// Waits until all queued work of the stream is done.
  int32_t synchronize(const char *what);

  mp::runtime::Array<mp::runtime::Piece> pieces;
  uint64_t pieceCount = 0;
  /// Indexed by reduction: its condition in this call. This is memory of the
  /// host, which is only allocated if there are ranks.
  void *conditions = nullptr;
  /// Indexed by reduction: the buffer of its members on the host, one after the
  /// other, in `reducedMemory`.
  mp::runtime::Array<void *> reduced;
  void *reducedMemory = nullptr;
  mp::runtime::DeviceReductions onDevices{*this};
  mp::runtime::NextInputs nextInputs{*this};
  mp::runtime::Array<bool> isSet;
  /// Indexed by input: true if an output is written over it. `hasNewStates` is
  /// true if one was set since the records that depend on it have run.
  mp::runtime::Array<bool> isState;
  bool hasNewStates = false;
  /// The upper half of the call's number, which hardly ever changes.
  uint32_t upper = 0;
  /// True if a call has been queued since the last wait.
  bool hasCalls = false;
  int64_t words[MP_PLAN_CONTROL_WORDS] = {};

private:
  friend int32_t mp::runtime::launchPiece(mp_session &, uint64_t);
  int32_t makeTables();
  int32_t allocate();
  int32_t allocate(mp_device_address &address, uint64_t size, const char *what,
                   const char *name);
  int32_t upload(const void *const *data);
  int32_t load(const void *emulated);
  int32_t loadModule(uint64_t index, const void *emulated);
  /// Queues the records up to a reduction: those that run after states have
  /// been set, or all others.
  int32_t record(bool whenSet, uint64_t begin, uint64_t end);
  int32_t makePieces();
  int32_t makeGraph(mp::runtime::Piece &piece, uint64_t begin);
  bool isActive(uint32_t reduction) const {
    return static_cast<const uint8_t *>(conditions)[reduction] != 0;
  }
  int32_t takeHostMemory(void *&memory, uint64_t size);
  int32_t takeReducedMemory();
  int32_t reduce(const mp::runtime::Piece &piece);
  /// Queues a copy to the host.
  int32_t fetch(const mp_plan_place &from, void *to, bool &isCopied);
  int32_t fetchConditions(const mp::runtime::Piece &piece);
  int32_t fetchReduced(const mp::runtime::Piece &piece);
  int32_t startOnHost(const mp_collectives &ranks, uint32_t number);
  int32_t waitOnHost(const mp_collectives &ranks, uint32_t number);
  int32_t add(const mp_plan_record &record,
              mp::runtime::Array<mp_device_address> &addresses,
              mp::runtime::Array<void *> &parameters);
  int32_t addFill(const mp_plan_record &record);
  int32_t clearControl();
  int32_t reportError();

  const mp_plan_place &getPlace(const mp_plan_record &record, uint32_t index) {
    return plan.getPlaces()[record.first_place + index];
  }
  uint64_t getTotal() const;
};

#endif // MPOPT_LIB_RUNTIME_CUDA_SESSION_H
