//===- ScalingPlan.cpp - Predicted scaling over ranks ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/ScalingPlan.h"

#include "mp-opt/Data/DataFiles.h"
#include "mp-opt/Support/FlatJSON.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Networks
//===----------------------------------------------------------------------===//

namespace {
struct KnownNetwork {
  StringLiteral name;
  Link outside, inside;
  unsigned ranksPerNode;
};

/// At least nine tenths of the line rate, as measured for long messages by the
/// benchmarks of MPI and NCCL (nccl-tests' "bus bandwidth"), and latencies of
/// NCCL's tuning model (src/graph/tuning.cc) or, for TCP, of a switch.
constexpr KnownNetwork knownNetworks[] = {
    {"10g", {1.15e9, 20e-6}, {}, 1},
    {"25g", {2.9e9, 15e-6}, {}, 1},
    {"100g", {11.5e9, 5e-6}, {}, 1},
    {"400g", {48e9, 4e-6}, {}, 1},
    {"nvlink+400g", {48e9, 4e-6}, {370e9, 1.9e-6}, 8},
};
} // namespace

/// "GB/S,US"; false for anything else.
static bool parseLink(StringRef text, Link &link) {
  auto [bandwidth, latency] = text.split(',');
  double gigabytes = 0, microseconds = 0;
  if (bandwidth.getAsDouble(gigabytes) || latency.getAsDouble(microseconds) ||
      !(gigabytes > 0) || !std::isfinite(gigabytes) || !(microseconds >= 0) ||
      !std::isfinite(microseconds))
    return false;
  link = {gigabytes * 1e9, microseconds * 1e-6};
  return true;
}

std::vector<std::string> Network::getKnownNames() {
  std::vector<std::string> names;
  for (const KnownNetwork &known : knownNetworks)
    names.push_back(known.name.str());
  return names;
}

Expected<Network> Network::parse(StringRef text) {
  for (const KnownNetwork &known : knownNetworks)
    if (text == known.name)
      return Network{text.str(), known.outside, known.inside,
                     known.ranksPerNode};
  std::vector<std::string> names = getKnownNames();
  Network network;
  network.name = text.str();
  auto [outside, node] = text.split(':');
  auto [ranks, inside] = node.split(',');
  bool hasNode = text.contains(':');
  if (parseLink(outside, network.outside) &&
      (!hasNode ||
       (!ranks.getAsInteger(10, network.ranksPerNode) &&
        network.ranksPerNode > 0 && parseLink(inside, network.inside))))
    return network;
  return createStringError("network '" + text + "': expected " +
                           join(names, ", ") +
                           ", or GB/S,US with :RANKS,GB/S,US of a node" +
                           suggestNearest(text, names));
}

unsigned Network::countNodes(unsigned ranks) const {
  return llvm::divideCeil(ranks, ranksPerNode);
}

double Network::getNodeBandwidth() const {
  return outside.bandwidth * ranksPerNode;
}

double Network::getRingSeconds(double bytes, unsigned ranks) const {
  // A chunk goes around the ring nearly twice, and leaves each node once per
  // round. Only a ring of nodes with one rank each has two fewer hops between
  // nodes.
  unsigned nodes = countNodes(ranks), hops = 2 * (ranks - 1);
  unsigned hopsOutside = nodes > 1 ? std::min(hops, 2 * nodes) : 0;
  double bandwidth = nodes < 2 ? inside.bandwidth
                     : ranksPerNode == 1
                         ? outside.bandwidth
                         : std::min(inside.bandwidth, getNodeBandwidth());
  return (hops - hopsOutside) * inside.latency + hopsOutside * outside.latency +
         2 * bytes * (ranks - 1) / ranks / bandwidth;
}

double Network::getTreeSeconds(double bytes, unsigned ranks) const {
  unsigned nodes = countNodes(ranks), local = std::min(ranks, ranksPerNode);
  double transfer = local > 1 ? 2 * bytes / inside.bandwidth : 0;
  // The ranks of a node add up before they send. Each of two trees carries half
  // of the data, with different inner nodes, so all data enter and leave a node
  // once. With two nodes, which are the root and the leaf of each tree, data
  // are sent only once in total.
  if (nodes > 1)
    transfer =
        std::max(transfer, (nodes == 2 ? 1 : 2) * bytes / getNodeBandwidth());
  // Pipelining costs a tenth of the bandwidth.
  return 2 * ((local - 1) * inside.latency +
              std::ceil(std::log2(nodes)) * outside.latency) +
         transfer / 0.9;
}

double Network::getSeconds(double bytes, unsigned ranks) const {
  if (ranks < 2)
    return 0;
  return std::min(getRingSeconds(bytes, ranks), getTreeSeconds(bytes, ranks));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

uint64_t MeasuredStep::getBytes() const {
  uint64_t bytes = 0;
  for (const BucketTime &bucket : buckets)
    bytes += bucket.bytes;
  return bytes;
}

Expected<MeasuredStep> measureStep(Session &session) {
  constexpr unsigned warmup = 3, measured = 10;
  using Clock = std::chrono::steady_clock;
  BucketRecorder recorder(session.getProgram().getDriver());
  MeasuredStep best;
  for (unsigned call = 0; call < warmup + measured; ++call) {
    recorder.begin();
    Clock::time_point start = Clock::now();
    auto outputs = session.run();
    if (!outputs)
      return outputs.takeError();
    double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    if (call < warmup || (call > warmup && seconds >= best.seconds))
      continue;
    best = {seconds, recorder.getBuckets()};
  }
  if (best.buckets.empty())
    return createStringError("the step reduces nothing over ranks: mp-opt "
                             "--train --distribute makes one that does");
  return best;
}

/// Reads a bucket of a step that takes `stepSeconds`. Without `needed`, the
/// bucket is needed at the end of the step.
static Expected<BucketTime> readBucket(const json::Value &value,
                                       double stepSeconds) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return createStringError("it is not an object");
  std::optional<double> bytes = object->getNumber("bytes"),
                        ready = object->getNumber("ready");
  constexpr double maxBytes = 1e15;
  if (!bytes || !(*bytes > 0) || !(*bytes <= maxBytes))
    return createStringError("expected 'bytes', a number above 0");
  if (!ready || !(*ready >= 0) || !(*ready <= stepSeconds))
    return createStringError(
        "expected 'ready', seconds between 0 and those of the step");
  BucketTime bucket;
  bucket.bytes = *bytes;
  bucket.isF32 = object->getBoolean("fp32").value_or(true);
  bucket.ready = *ready;
  bucket.needed = object->getNumber("needed").value_or(stepSeconds);
  // A value of 0 means that the step does not wait for the bucket.
  if (bucket.needed != 0 &&
      (!(bucket.needed >= *ready) || !(bucket.needed <= stepSeconds)))
    return createStringError(
        "'needed': expected seconds between 'ready' and those of the step");
  return bucket;
}

static Expected<MeasuredStep> parseMeasuredStep(StringRef text) {
  // The plan, its buckets, and one of these.
  Expected<json::Value> value = parseFlatJSON(text, /*maxDepth=*/3);
  if (!value)
    return value.takeError();
  const json::Object *plan = value->getAsObject();
  std::optional<double> seconds =
      plan ? plan->getNumber("seconds") : std::nullopt;
  const json::Array *buckets = plan ? plan->getArray("buckets") : nullptr;
  if (!seconds || !(*seconds > 0) || !std::isfinite(*seconds))
    return createStringError("expected a plan with 'seconds', above 0");
  if (!buckets || buckets->empty())
    return createStringError("expected a plan with 'buckets'");
  MeasuredStep step;
  step.seconds = *seconds;
  for (auto [number, element] : llvm::enumerate(*buckets)) {
    Expected<BucketTime> bucket = readBucket(element, step.seconds);
    if (!bucket)
      return prefixError("bucket " + Twine(number), bucket.takeError());
    bucket->number = number;
    step.buckets.push_back(*bucket);
  }
  return step;
}

Expected<MeasuredStep> readMeasuredStep(StringRef path) {
  Expected<DataBuffer> file = DataBuffer::open(path);
  if (!file)
    return prefixError(path, file.takeError());
  Expected<MeasuredStep> step = parseMeasuredStep(file->getText());
  if (!step)
    return prefixError(path, step.takeError());
  return step;
}

namespace {
/// An event in a step that waits for no other rank.
struct Event {
  double time;
  size_t bucket;
  bool isNeed;
};
} // namespace

ScaledStep scale(const MeasuredStep &step, const Network &network,
                 const ScalingCase &wanted, double jitter) {
  ScaledStep scaled;
  scaled.of = wanted;
  std::vector<Event> events;
  for (auto [number, bucket] : llvm::enumerate(step.buckets)) {
    events.push_back({bucket.ready, number, false});
    if (bucket.needed > 0)
      events.push_back({bucket.needed, number, true});
  }
  llvm::stable_sort(events, [](const Event &one, const Event &other) {
    return one.time < other.time;
  });
  scaled.transfers.resize(step.buckets.size());
  // Each wait shifts all later events.
  double shift = 0, free = 0, sent = 0;
  for (const Event &event : events) {
    double now = event.time + shift;
    auto &[begin, end] = scaled.transfers[event.bucket];
    if (event.isNeed) {
      shift += std::max(0.0, end - now);
      continue;
    }
    const BucketTime &bucket = step.buckets[event.bucket];
    double bytes = double(bucket.bytes);
    if (wanted.isWireBF16 && bucket.isF32)
      bytes /= 2;
    if (wanted.isSharded)
      bytes *= 0.75;
    begin = std::max(now, free);
    free = end = begin + network.getSeconds(bytes, wanted.ranks);
    sent += 2 * bytes * (wanted.ranks - 1) / wanted.ranks;
  }
  // The lag of the slowest rank: the largest of n normally distributed numbers
  // is about this far from their mean.
  double slowest =
      step.seconds * jitter * std::sqrt(2 * std::log(double(wanted.ranks)));
  // An update of several batches waits only once.
  scaled.exposed = shift / wanted.accumulate;
  scaled.seconds = step.seconds + scaled.exposed + slowest;
  scaled.efficiency = step.seconds / scaled.seconds;
  scaled.bytes = sent;
  return scaled;
}

ScalingPlan planScaling(MeasuredStep step, const Network &network,
                        ArrayRef<unsigned> ranks, double jitter) {
  ScalingPlan plan;
  plan.step = std::move(step);
  plan.network = network;
  plan.jitter = jitter;
  for (unsigned count : ranks)
    for (ScalingCase wanted :
         {ScalingCase{count}, ScalingCase{count, /*isWireBF16=*/true},
          ScalingCase{count, false, /*accumulate=*/4},
          ScalingCase{count, true, 4},
          ScalingCase{count, false, 1, /*isSharded=*/true}})
      plan.steps.push_back(scale(plan.step, network, wanted, jitter));
  constexpr unsigned most = 1 << 16;
  constexpr double least = 0.9;
  for (auto [isWireBF16, found] : {std::pair(false, &plan.maxRanksF32),
                                   std::pair(true, &plan.maxRanksBF16)})
    for (unsigned count = 2; count <= most; count *= 2) {
      if (scale(plan.step, network, {count, isWireBF16}, jitter).efficiency <
          least)
        break;
      *found = count;
    }
  return plan;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static std::string describe(const ScalingCase &of) {
  std::string text = of.isWireBF16 ? "bf16" : "fp32";
  if (of.accumulate > 1)
    text += ", accumulate " + std::to_string(of.accumulate);
  if (of.isSharded)
    text += ", sharded optimizer";
  return text;
}

void ScalingPlan::print(raw_ostream &os) const {
  os << format("one rank: %.3g ms, %.4g MB of gradients in %zu buckets\n",
               step.seconds * 1e3, double(step.getBytes()) * 1e-6,
               step.buckets.size());
  os << format("network:  %.3g GB/s and %.3g us between ",
               network.outside.bandwidth * 1e-9, network.outside.latency * 1e6);
  if (network.ranksPerNode > 1)
    os << format("nodes of %u, %.3g GB/s and %.3g us within\n",
                 network.ranksPerNode, network.inside.bandwidth * 1e-9,
                 network.inside.latency * 1e6);
  else
    os << "ranks\n";
  os << "\n   ranks  on the wire                    sent MB   exposed ms   "
        "step "
        "ms  efficiency\n";
  for (const ScaledStep &scaled : steps)
    os << format("%8u  %-29s %9.4g %12.4g %9.4g %10.1f %%\n", scaled.of.ranks,
                 describe(scaled.of).c_str(), scaled.bytes * 1e-6,
                 scaled.exposed * 1e3, scaled.seconds * 1e3,
                 scaled.efficiency * 100);
  const ScaledStep &first = steps.front();
  os << "\nwith " << first.of.ranks << " ranks, in fp32:\n"
     << "  bucket        MB   ready ms   start ms     end ms   needed ms\n";
  for (auto [bucket, transfer] : llvm::zip(step.buckets, first.transfers))
    os << format("%8d %9.4g %10.4g %10.4g %10.4g %11.4g\n", bucket.number,
                 double(bucket.bytes) * 1e-6, bucket.ready * 1e3,
                 transfer.first * 1e3, transfer.second * 1e3,
                 bucket.needed * 1e3);
  os << "\n90 % efficiency up to " << maxRanksF32 << " ranks in fp32, "
     << maxRanksBF16 << " in bf16\n";
}

void ScalingPlan::printJSON(raw_ostream &os) const {
  json::OStream json(os, 2);
  json.object([&] {
    json.attribute("seconds", step.seconds);
    json.attribute("gradient_bytes", step.getBytes());
    json.attribute("network", network.name);
    json.attribute("jitter", jitter);
    json.attributeArray("buckets", [&] {
      for (const BucketTime &bucket : step.buckets)
        json.object([&] {
          json.attribute("bucket", bucket.number);
          json.attribute("bytes", bucket.bytes);
          json.attribute("fp32", bucket.isF32);
          json.attribute("ready", bucket.ready);
          json.attribute("needed", bucket.needed);
        });
    });
    json.attributeArray("plans", [&] {
      for (const ScaledStep &scaled : steps)
        json.object([&] {
          json.attribute("ranks", scaled.of.ranks);
          json.attribute("wire", scaled.of.isWireBF16 ? "bf16" : "fp32");
          json.attribute("accumulate", scaled.of.accumulate);
          json.attribute("sharded", scaled.of.isSharded);
          json.attribute("sent_bytes", scaled.bytes);
          json.attribute("exposed_seconds", scaled.exposed);
          json.attribute("step_seconds", scaled.seconds);
          json.attribute("efficiency", scaled.efficiency);
        });
    });
    json.attribute("ranks_at_90_percent_fp32", maxRanksF32);
    json.attribute("ranks_at_90_percent_bf16", maxRanksBF16);
  });
  os << "\n";
}

} // namespace mp
