//===- LaunchTimes.h - The time of each launch ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_CUDA_LAUNCHTIMES_H
#define MPOPT_LIB_RUNTIME_CUDA_LAUNCHTIMES_H

#include "LoadedPlan.h"

struct mp_session;

namespace mp::runtime {

/// The variable that names the file of times. A call of a session appends one
/// line of JSON for each record to it: {"record": 3, "kernel": "map_0", "node":
/// "fc1/Add", "grid": [64, 1, 1], "block": [256, 1, 1], "shared": 0,
/// "us": 4.1}. Records are then queued one by one, and not as a graph; a time
/// is that between events before and after a record, the gap included.
constexpr const char *launchTimesVariable = "MPOPT_LAUNCH_TIMES";

/// Events around the records of a call.
class LaunchTimes {
public:
  explicit LaunchTimes(LoadedPlan &loaded) : loaded(loaded) {}
  ~LaunchTimes();

  /// The functions return MP_OK, or another code after setting the last error.
  /// Makes events for as many records.
  int32_t start(uint64_t count);
  /// Marks the end of a record, or with `record` -1 the beginning.
  int32_t mark(int64_t record);
  /// Waits for the records, and appends their times to a file.
  int32_t write(const char *path);

private:
  LoadedPlan &loaded;
  Array<void *> events;
  /// Indexed by event: the record before it.
  Array<int64_t> records;
  uint64_t count = 0, most = 0;
};

/// Queues a piece of a call, without its reductions: as a graph, or with times.
/// Returns MP_OK, or another code after setting the last error.
int32_t launchPiece(mp_session &session, uint64_t number);

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_CUDA_LAUNCHTIMES_H
