//===- RoundingSpeed.cpp - Conversion of weights: right and fast ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounding of many values gives the results of single roundings: 2^24 bit
// patterns over all exponents, at every distance from the vectors' ends.
// Conversion, one block at a time as in the writer of files, moves at least 60
// % of the bytes per second of a memcpy. Bytes read and written count; the best
// of several alternating runs counts, since other work on the machine slows
// both.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/Rounding.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <vector>

using namespace mp;

using RoundMany = void (*)(llvm::ArrayRef<float>, uint16_t *);
using RoundOne = uint16_t (*)(float);

static unsigned compare(RoundMany many, RoundOne one) {
  constexpr uint64_t samples = 1 << 24;
  constexpr size_t count = 4096 + 13;
  std::vector<float> values(count);
  std::vector<uint16_t> rounded(count);
  unsigned failures = 0;
  for (uint64_t start = 0; start < samples; start += count) {
    for (size_t i = 0; i < count; ++i)
      values[i] = llvm::bit_cast<float>(
          uint32_t((start + i) * ((uint64_t(1) << 32) / samples) +
                   (start + i) % 257 - 128));
    size_t skip = start % 8;
    many(llvm::ArrayRef(values).drop_front(skip), rounded.data());
    for (size_t i = skip; i < count; ++i)
      failures += rounded[i - skip] != one(values[i]);
  }
  return failures;
}

static double getSeconds(const std::function<void()> &work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Bytes per second of conversion over those of memcpy.
static double getRatio(RoundMany many) {
  constexpr size_t count = 16 << 20, block = 1 << 18;
  std::vector<float> source(count, 1.5F), copy(count);
  std::vector<uint16_t> converted(block);
  double convert = 1e9, memory = 1e9;
  for (int run = 0; run < 15; ++run) {
    memory = std::min(memory, getSeconds([&] {
                        memcpy(copy.data(), source.data(), count * 4);
                      }));
    convert = std::min(convert, getSeconds([&] {
                         for (size_t i = 0; i < count; i += block)
                           many({source.data() + i, block}, converted.data());
                       }));
  }
  return (6 * count / convert) / (8 * count / memory);
}

int main() {
  unsigned failures = 0;
  auto check = [&](const char *name, RoundMany many, RoundOne one) {
    unsigned wrong = compare(many, one);
    double ratio = getRatio(many);
    llvm::outs() << name << ": " << wrong << " of 2^24 differ, "
                 << llvm::format("%.2f", ratio) << " of memcpy's speed\n";
    failures += wrong + (ratio < 0.6);
  };
  check("bf16", roundToBFloat16, roundToBFloat16);
  check("fp16", roundToFloat16, roundToFloat16);
  return failures ? 1 : 0;
}
