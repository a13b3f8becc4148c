//===- ScalingPlan.h - Predicted scaling over ranks -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts weak scaling of data-parallel steps: each rank has a batch of the
// same size. One rank's step is measured, with the times at which buckets of
// gradients are ready and needed. Transfers take time by Hockney's model of
// latency and bandwidth, one bucket after the other.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_SCALINGPLAN_H
#define MPOPT_API_TRAIN_SCALINGPLAN_H

#include "mp-opt/API/Run/Session.h"
#include "mp-opt/Collectives/BucketTimes.h"

namespace mp {

/// A link between ranks: bytes per second of one rank, and seconds per message.
/// The ranks of a node send to other nodes concurrently, each its share.
struct Link {
  double bandwidth = 0, latency = 0;
};

struct Network {
  std::string name;
  /// The links between nodes, and within a node of `ranksPerNode` ranks, if
  /// there are several.
  Link outside, inside;
  unsigned ranksPerNode = 1;

  /// Parses a name such as "400g" or "nvlink+400g", or "GB/S,US", optionally
  /// followed by ":RANKS,GB/S,US" for the ranks of a node. The error lists the
  /// known names.
  static llvm::Expected<Network> parse(llvm::StringRef text);
  static std::vector<std::string> getKnownNames();

  /// The time of an all-reduce of `bytes` bytes on each of `ranks`: the better
  /// one of a ring and a tree, as NCCL chooses.
  double getSeconds(double bytes, unsigned ranks) const;
  double getRingSeconds(double bytes, unsigned ranks) const;
  double getTreeSeconds(double bytes, unsigned ranks) const;

private:
  unsigned countNodes(unsigned ranks) const;
  /// The bandwidth of all ranks of a node together to other nodes.
  double getNodeBandwidth() const;
};

/// The measured step of one rank.
struct MeasuredStep {
  double seconds = 0;
  std::vector<BucketTime> buckets;

  uint64_t getBytes() const;
};

/// Measures the fastest of several steps of a session, after warm-up steps.
/// Fails if the model has no reductions.
llvm::Expected<MeasuredStep> measureStep(Session &session);

/// Reads the step of a plan that was printed as JSON, possibly on another
/// machine.
llvm::Expected<MeasuredStep> readMeasuredStep(llvm::StringRef path);

/// One point of the sweep.
struct ScalingCase {
  unsigned ranks = 1;
  bool isWireBF16 = false;
  /// Batches for each update; only the step of the last one communicates.
  unsigned accumulate = 1;
  /// Optimizer states are sharded: gradients are scattered, and 16-bit weights
  /// gathered, which reduces the bytes to three quarters.
  bool isSharded = false;
};

struct ScaledStep {
  ScalingCase of;
  /// Averages per step over the batches of an update: the time, including the
  /// wait for the slowest rank, and the exposed communication in it.
  /// `efficiency` is the step time of one rank divided by `seconds`.
  double seconds = 0, exposed = 0, efficiency = 0;
  /// Bytes that each rank sends for each update.
  double bytes = 0;
  /// The times at which the transfer of each bucket begins and ends.
  std::vector<std::pair<double, double>> transfers;
};

/// Predicts a case. `jitter` is the standard deviation of the times of ranks,
/// as a share of a step: all ranks wait for the slowest.
ScaledStep scale(const MeasuredStep &step, const Network &network,
                 const ScalingCase &wanted, double jitter);

struct ScalingPlan {
  MeasuredStep step;
  Network network;
  double jitter = 0;
  /// Entries for each number of ranks: fp32, bf16, both with four batches per
  /// update, and sharded.
  std::vector<ScaledStep> steps;
  /// The most ranks, a power of two, at which fp32 and bf16 keep nine tenths of
  /// the efficiency.
  unsigned maxRanksF32 = 1, maxRanksBF16 = 1;

  void print(llvm::raw_ostream &os) const;
  void printJSON(llvm::raw_ostream &os) const;
};

ScalingPlan planScaling(MeasuredStep step, const Network &network,
                        llvm::ArrayRef<unsigned> ranks, double jitter);

} // namespace mp

#endif // MPOPT_API_TRAIN_SCALINGPLAN_H
