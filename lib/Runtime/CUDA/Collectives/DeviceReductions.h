//===- DeviceReductions.h - Reductions over ranks on devices ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each reduction of the plan is a fused collective. A kernel packs the elements
// of its members, one shard after the other for each rank. Shards are exchanged
// (all-to-all), another kernel adds up the received copies of the own shard,
// and the sums are gathered (all-gather) and copied back. All of this uses a
// separate stream, which is synchronized with the model's stream by events.
// Addresses and sizes never change, so the kernels' parameters are made once.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_CUDA_DEVICEREDUCTIONS_H
#define MPOPT_LIB_RUNTIME_CUDA_DEVICEREDUCTIONS_H

#include "../LoadedPlan.h"

namespace mp::runtime {

/// The types of elements that are reduced or sent.
enum class WireType { F32, BF16, F64, I8 };
inline uint64_t getBytes(WireType type) {
  constexpr uint64_t bytes[] = {4, 2, 8, 1};
  return bytes[static_cast<int>(type)];
}

/// True for the operations of mp_operation on ranges of members, each of which
/// belongs to one rank.
inline bool isOfRanges(int32_t operation) { return operation >= MP_SCATTER; }
/// True for those of them that add nothing up.
inline bool isGather(int32_t operation) { return operation >= MP_GATHER; }

/// A launch: the kernel, and the offset of its rows of mp_rank_piece or
/// mp_rank_parts from the begin of all tables.
struct RankLaunch {
  void *function = nullptr;
  uint64_t offset = 0, rows = 0;
  /// Elements of the longest row.
  uint64_t longest = 0;
};

/// A reduction of the plan, with the same number.
struct FusedCollective {
  int32_t operation = 0;
  WireType elementType = WireType::F32, wireType = WireType::F32;
  /// The number of elements in one rank's shard, including padding.
  uint64_t shardSize = 0;
  RankLaunch pack, add, unpack;
  /// Events for mp_reduction_time: on the model's stream, and on the other one.
  void *ready = nullptr, *needed = nullptr, *resumed = nullptr;
  void *begun = nullptr, *done = nullptr;
  /// True if the current call waits for it.
  bool isWaitedFor = false;
};

/// The ranks passed to mp_set_device_ranks; null if there are none.
const mp_device_ranks *getDeviceRanks();

class DeviceReductions {
public:
  explicit DeviceReductions(LoadedPlan &loaded) : loaded(loaded) {}

  /// Makes all of it for the ranks that are set, of which there may be none.
  /// Waits for the stream.
  int32_t prepare(const mp_device_ranks *given);
  bool isReadyFor(const mp_device_ranks *given) const { return given == ranks; }
  bool isInUse() const { return ranks != nullptr; }
  /// Frees everything.
  void destroy();

  /// Begins a call.
  int32_t begin();
  /// Starts a reduction, and makes the model's stream wait for it.
  int32_t start(uint32_t number);
  int32_t waitFor(uint32_t number);
  /// Waits until all queued work of the model's stream is done.
  int32_t wait();
  /// Reports the times of the last call; called after `wait`.
  void tellTimes();

private:
  int32_t makeCollectives();
  const mp_plan_reduction &getReduction(const FusedCollective &fused) const {
    return loaded.plan.getReductions()[&fused - &collectives[0]];
  }
  void setShardSize(FusedCollective &fused);
  int32_t makeTables();
  int32_t findKernels(FusedCollective &fused);
  int32_t findKernel(RankLaunch &launch, const char *work, WireType from,
                     WireType to);
  int32_t allocate(mp_device_address &address, uint64_t bytes,
                   const char *what);
  template <typename Function>
  void forSegments(const FusedCollective &fused, Function visit);
  /// Writes the parameters of launches after `begin` in `memory`, or only
  /// counts them if that is null. Returns the end.
  uint64_t write(FusedCollective &fused, uint8_t *memory, uint64_t begin);
  uint64_t writeSegments(const FusedCollective &fused, RankLaunch &launch,
                         bool packs, uint8_t *memory, uint64_t begin);

  int32_t runCollective(const FusedCollective &fused);
  int32_t launch(const RankLaunch &launch);
  int32_t check(int32_t error, const char *function);
  int32_t checkRanks(int32_t code);
  /// The bucket for which this rank waits for others; -1 for none.
  int32_t findAwaited();
  /// The time from the begin of the call to an event.
  double getSeconds(void *event);

  LoadedPlan &loaded;
  const mp_device_ranks *ranks = nullptr;
  void *stream = nullptr;
  /// The event at the begin of a call.
  void *beginning = nullptr;
  Array<FusedCollective> collectives;
  uint64_t count = 0;
  /// The numbers of collectives that have started in the last call, of which
  /// `numDone` are known to be done.
  Array<uint32_t> started;
  uint64_t numStarted = 0, numDone = 0;
  Array<mp_reduction_time> times;
  /// The buffers for sent and gathered elements, and for received ones.
  mp_device_address packed = 0, received = 0, tables = 0;
  /// The host's copy of the tables; it must live until its transfer is done.
  Array<uint8_t> written;
  /// The size of this object's memory on the device.
  uint64_t ownBytes = 0;
};

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_CUDA_DEVICEREDUCTIONS_H
