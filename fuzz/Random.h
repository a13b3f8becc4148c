//===- Random.h - Choices of a mutator --------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FUZZ_RANDOM_H
#define MPOPT_FUZZ_RANDOM_H

#include <cstdint>
#include <random>

namespace mp::fuzz {

/// The same numbers on every machine: the standard fixes the engine, but not
/// its distributions.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}

  /// Below `bound`; 0 if that is 0.
  uint64_t below(uint64_t bound) { return bound ? engine() % bound : 0; }
  bool oneIn(uint64_t count) { return below(count) == 0; }
  template <typename List> auto &pick(List &&list) {
    return *std::next(std::begin(list), below(std::size(list)));
  }
  uint64_t next() { return engine(); }

  /// A number that arithmetic on sizes does not expect.
  int64_t oddInteger() {
    static constexpr int64_t odd[] = {
        0,         1,         -1,        2,         3,           -2,
        7,         64,        1024,      1LL << 31, 1LL << 32,   1LL << 40,
        1LL << 62, INT32_MIN, INT64_MAX, INT64_MIN, -(1LL << 40)};
    return pick(odd);
  }

private:
  std::mt19937_64 engine;
};

} // namespace mp::fuzz

#endif // MPOPT_FUZZ_RANDOM_H
