//===- DeviceReductions.h - What ranks reduce on devices --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Members of a bucket that begin together, of one operation and type, are a
// shipment: a kernel copies their elements to one place, part after part for
// each rank; these are exchanged, another kernel adds up what has come of the
// own part, and the sums are gathered and copied back. All of that is on a
// stream of its own, which waits for the model's and is waited for by events.
// Addresses and sizes never change, so kernels' parameters are made once.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_CUDA_DEVICEREDUCTIONS_H
#define MPOPT_LIB_RUNTIME_CUDA_DEVICEREDUCTIONS_H

#include "Array.h"
#include "PlanView.h"

#include "mp-opt/Runtime/Device.h"

namespace mp::runtime {

/// What elements are while they travel.
enum class Wire { F32, BF16, F64, I8 };
inline uint64_t getBytes(Wire wire) {
  constexpr uint64_t bytes[] = {4, 2, 8, 1};
  return bytes[static_cast<int>(wire)];
}

/// Of mp_operation: ranges of members are of one rank each; nothing is added.
inline bool isOfRanges(int32_t operation) { return operation >= MP_SCATTER; }
inline bool isGather(int32_t operation) { return operation >= MP_GATHER; }

/// A launch: the kernel, and where its rows of mp_rank_piece are, or its
/// mp_rank_parts, counted from the begin of all tables.
struct RankLaunch {
  void *function = nullptr;
  uint64_t offset = 0, rows = 0;
  /// Elements of the longest row.
  uint64_t longest = 0;
};

struct Shipment {
  int32_t operation = 0;
  Wire elements = Wire::F32, wire = Wire::F32;
  /// The record that it begins at.
  uint64_t trigger = 0;
  /// The first of its members, which all have the same condition.
  uint32_t first = 0;
  /// Its members, in `members`, and their bytes.
  uint64_t begin = 0, end = 0, bytes = 0;
  /// Of a rank, with what fills it up, in elements.
  uint64_t part = 0;
  RankLaunch pack, add, unpack;
  /// Events of mp_reduction_time: of the model's stream, and of the other one.
  void *ready = nullptr, *needed = nullptr, *resumed = nullptr;
  void *begun = nullptr, *done = nullptr;
  /// In this call.
  bool isWaitedFor = false;
};

/// What mp_set_device_ranks was given; null for none.
const mp_device_ranks *getDeviceRanks();

class DeviceReductions {
public:
  explicit DeviceReductions(mp_session &session) : session(session) {}

  /// Makes all of it for the ranks that are set, of which there may be none.
  /// Waits for the stream.
  int32_t prepare(const mp_device_ranks *given);
  bool isReadyFor(const mp_device_ranks *given) const { return given == ranks; }
  bool isInUse() const { return ranks != nullptr; }
  /// Gives all back.
  void destroy();

  /// A call begins.
  int32_t begin();
  /// What begins at a record, and what is waited for there. `isActive` has what
  /// conditions of reductions are.
  int32_t run(uint64_t record, const uint8_t *isActive);
  /// Until all that is in line for the model's stream is done.
  int32_t wait();
  /// Behind that, of the last call.
  void tellTimes();

private:
  int32_t makeShipments();
  int32_t addShipments(uint64_t trigger, int32_t bucket);
  int32_t add(uint64_t trigger, uint32_t reduction);
  int32_t listMembers();
  void setPart(Shipment &shipment);
  int32_t makeTables();
  int32_t findKernels(Shipment &shipment);
  int32_t findKernel(RankLaunch &launch, const char *work, Wire from, Wire to);
  int32_t allocate(mp_device_address &address, uint64_t bytes,
                   const char *what);
  template <typename Function>
  void forPieces(const Shipment &shipment, Function visit);
  /// Writes what launches are given, behind `begin` in `memory`; null to count
  /// alone. Returns where it ends.
  uint64_t write(Shipment &shipment, uint8_t *memory, uint64_t begin);
  uint64_t writePieces(const Shipment &shipment, RankLaunch &launch, bool packs,
                       uint8_t *memory, uint64_t begin);

  int32_t start(Shipment &shipment);
  int32_t waitFor(Shipment &shipment);
  int32_t travel(const Shipment &shipment);
  int32_t launch(const RankLaunch &launch);
  int32_t check(int32_t error, const char *function);
  int32_t checkRanks(int32_t code);
  /// The bucket that other ranks are waited for; -1 for none.
  int32_t findAwaited();
  /// From the begin of the call to an event of it.
  double getSeconds(void *event);

  mp_session &session;
  const mp_device_ranks *ranks = nullptr;
  void *stream = nullptr;
  /// The event that a call begins with.
  void *beginning = nullptr;
  /// In the order of the records that they begin at.
  Array<Shipment> shipments;
  uint64_t count = 0;
  /// Numbers of reductions, those of a shipment behind each other.
  Array<uint32_t> members;
  /// In a call, the first that no record has come to.
  uint64_t next = 0;
  /// The numbers of those that have started in the last call, of which
  /// `numDone` are known to be done.
  Array<uint32_t> started;
  uint64_t numStarted = 0, numDone = 0;
  Array<mp_reduction_time> times;
  /// Of each reduction, 1 + the number of the shipment that it is in.
  Array<uint32_t> shipmentOf;
  /// While shipments are made: of each reduction, whether it has started and is
  /// in none.
  Array<bool> isOpen;
  /// What is sent and gathered, and what is received.
  mp_device_address packed = 0, received = 0, tables = 0;
  /// What is copied to the tables; it stays as long as that may be in line.
  Array<uint8_t> written;
  /// Of the memory on the device.
  uint64_t ownBytes = 0;
};

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_CUDA_DEVICEREDUCTIONS_H
