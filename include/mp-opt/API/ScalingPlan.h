//===- ScalingPlan.h - What a step would take on many ranks -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weak scaling of data-parallel steps: each rank has a batch of the same size.
// One rank's step is measured, with the times at which buckets of gradients are
// ready and needed; what travels takes time by a model of latency and bandwidth
// (Hockney's), one bucket after the other.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_SCALINGPLAN_H
#define MPOPT_API_SCALINGPLAN_H

#include "mp-opt/API/Session.h"
#include "mp-opt/Collectives/BucketTimes.h"

namespace mp {

/// Between ranks: bytes per second of one of them, and seconds of a message.
/// The ranks of a node send to other nodes at the same time, each its share.
struct Link {
  double bandwidth = 0, latency = 0;
};

struct Network {
  std::string name;
  /// Between nodes, and within one of so many ranks, if there are more.
  Link outside, inside;
  unsigned ranksPerNode = 1;

  /// A name, as "400g" or "nvlink+400g", or "GB/S,US" with ":RANKS,GB/S,US" for
  /// those of a node behind it. Fails with what is known.
  static llvm::Expected<Network> parse(llvm::StringRef text);
  static std::vector<std::string> getKnownNames();

  /// An all-reduce of so many bytes on each of `ranks`: the better one of a
  /// ring and a tree, as NCCL chooses.
  double getSeconds(double bytes, unsigned ranks) const;
  double getRingSeconds(double bytes, unsigned ranks) const;
  double getTreeSeconds(double bytes, unsigned ranks) const;

private:
  unsigned countNodes(unsigned ranks) const;
  /// Of all ranks of a node, to other nodes.
  double getNodeBandwidth() const;
};

/// One rank's step.
struct MeasuredStep {
  double seconds = 0;
  std::vector<BucketTime> buckets;

  uint64_t getBytes() const;
};

/// The fastest of some steps of a session, after others that warm up. Fails if
/// the model reduces nothing.
llvm::Expected<MeasuredStep> measureStep(Session &session);

/// The step of a plan that was printed as JSON, here or on another machine.
llvm::Expected<MeasuredStep> readMeasuredStep(llvm::StringRef path);

/// What is varied.
struct ScalingCase {
  unsigned ranks = 1;
  bool isWireBF16 = false;
  /// Batches for each update: only the last one's step communicates.
  unsigned accumulate = 1;
  /// Optimizer states are sharded: gradients are scattered, and 16-bit weights
  /// gathered, which is three quarters of the bytes.
  bool isSharded = false;
};

struct ScaledStep {
  ScalingCase of;
  /// Of an update on average: a step, what is exposed of communication in it,
  /// and that of the slowest rank. `efficiency` is one rank's step in relation.
  double seconds = 0, exposed = 0, efficiency = 0;
  /// Sent by each rank for each update.
  double bytes = 0;
  /// When each bucket begins to travel, and has arrived.
  std::vector<std::pair<double, double>> travels;
};

/// `jitter` is how far the times of ranks are apart, as a share of a step (one
/// standard deviation): all wait for the slowest.
ScaledStep scale(const MeasuredStep &step, const Network &network,
                 const ScalingCase &wanted, double jitter);

struct ScalingPlan {
  MeasuredStep step;
  Network network;
  double jitter = 0;
  /// For each number of ranks: fp32, bf16, both of these with four batches for
  /// an update, and sharded.
  std::vector<ScaledStep> steps;
  /// The most ranks, a power of two, at which fp32 and bf16 keep nine tenths.
  unsigned mostF32 = 1, mostBF16 = 1;

  void print(llvm::raw_ostream &os) const;
  void printJSON(llvm::raw_ostream &os) const;
};

ScalingPlan planScaling(MeasuredStep step, const Network &network,
                        llvm::ArrayRef<unsigned> ranks, double jitter);

} // namespace mp

#endif // MPOPT_API_SCALINGPLAN_H
