//===- HostPeaks.cpp - Peak rates of this processor -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Host/HostPeaks.h"

#include "HostLoops.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace mp {

using Clock = std::chrono::steady_clock;

/// The rate of the work that `work` returns, per second, in the best of some
/// tries of all threads at once.
static double measureRate(unsigned threads,
                          const std::function<double(unsigned)> &work) {
  constexpr int tries = 4;
  double best = 0;
  for (int attempt = 0; attempt < tries; ++attempt) {
    std::vector<double> rates(threads);
    auto run = [&](unsigned thread) {
      auto start = Clock::now();
      double done = work(thread);
      std::chrono::duration<double> taken = Clock::now() - start;
      rates[thread] = done / taken.count();
    };
    std::vector<std::thread> others;
    for (unsigned thread = 1; thread < threads; ++thread)
      others.emplace_back(run, thread);
    run(0);
    for (std::thread &other : others)
      other.join();
    best = std::max(best, std::accumulate(rates.begin(), rates.end(), 0.0));
  }
  return best;
}

static double measureLoop(const HostLoop &loop, unsigned threads) {
  constexpr auto duration = std::chrono::milliseconds(20);
  if (!loop.function)
    return 0;
  return measureRate(threads, [&](unsigned) {
    double done = 0;
    for (auto start = Clock::now(); Clock::now() - start < duration;) {
      loop.function();
      done += 2 * loop.multiplyAdds;
    }
    return done;
  });
}

/// Measures memory that does not fit any cache.
static double measureBandwidth(unsigned threads) {
  constexpr size_t bytes = 192 << 20;
  std::vector<std::vector<uint64_t>> memory(threads);
  for (std::vector<uint64_t> &part : memory)
    part.assign(bytes / threads / sizeof(uint64_t), 1);
  std::vector<uint64_t> sums(threads);
  return measureRate(threads, [&](unsigned thread) {
    const std::vector<uint64_t> &part = memory[thread];
    sums[thread] += std::accumulate(part.begin(), part.end(), uint64_t(0));
    asm volatile("" : : "r"(sums.data()) : "memory");
    return double(part.size() * sizeof(uint64_t));
  });
}

HostPeaks measureHostPeaks(const Target &target, unsigned threads) {
  HostPeaks peaks;
  peaks.floatRate = measureLoop(getFloatLoop(target.isa), threads);
  peaks.doubleRate = peaks.floatRate / 2;
  peaks.narrowRate = std::max(
      peaks.floatRate, measureLoop(getNarrowLoop(target.products), threads));
  peaks.bandwidth = measureBandwidth(threads);
  return peaks;
}

} // namespace mp
