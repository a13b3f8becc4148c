//===- ConstantScan.cpp - One reading of a constant -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements are taken in chunks that stay in the nearest cache. A first loop
// without a branch finds out what there is in a chunk; only where it has
// infinities, NaNs or elements that 16 bit does not hold, a second one counts.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Constants.h"

#include "llvm/ADT/bit.h"

#include <cmath>
#include <cstring>

namespace mp {

LowLimits::LowLimits(ElementKind low) {
  bool isHalf = low == ElementKind::Float16;
  name = isHalf ? "fp16" : "bf16";
  max = isHalf ? 65504 : 0x1.fep127;
  minNormal = isHalf ? 0x1p-14 : 0x1p-126;
  overflow = isHalf ? 65520 : 0x1.ffp127f;
  underflow = isHalf ? 0x1p-25f : 0x1p-134f;
  roundoffBelowOne = isHalf ? 0x1p-12 : 0x1p-9;
}

namespace {

/// The limits as bits: those of magnitudes order like the numbers.
struct Thresholds {
  explicit Thresholds(const LowLimits &limits)
      : overflow(llvm::bit_cast<uint32_t>(limits.overflow)),
        underflow(llvm::bit_cast<uint32_t>(limits.underflow)),
        normal(llvm::bit_cast<uint32_t>(float(limits.minNormal))) {}
  uint32_t overflow, underflow, normal;
};

struct ChunkFacts {
  /// Over all elements, specials too, as ordered integers.
  int32_t lo = INT32_MAX, hi = INT32_MIN;
  uint32_t maxBits = 0, tiny = 0, zeros = 0;
};

} // namespace

static constexpr uint32_t infinityBits = 0x7f800000;

/// Integers that order like the floats with these bits.
static inline int32_t getOrdered(uint32_t bits) {
  return int32_t(bits ^ (uint32_t(int32_t(bits) >> 31) >> 1));
}

static inline float fromOrdered(int32_t ordered) {
  return llvm::bit_cast<float>(uint32_t(ordered) ^
                               (uint32_t(ordered >> 31) >> 1));
}

static inline __attribute__((always_inline)) void
surveyChunk(llvm::ArrayRef<float> values, const Thresholds &at,
            ChunkFacts &facts) {
  int32_t lo = facts.lo, hi = facts.hi;
  uint32_t maxBits = 0, tiny = 0, zeros = 0;
  const uint32_t normal = at.normal;
  for (float value : values) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t magnitude = bits & 0x7fffffff;
    int32_t ordered = getOrdered(bits);
    lo = ordered < lo ? ordered : lo;
    hi = ordered > hi ? ordered : hi;
    maxBits = magnitude > maxBits ? magnitude : maxBits;
    // Zero wraps around and is not tiny.
    tiny |= magnitude - 1 < normal - 1;
    zeros += magnitude == 0;
  }
  facts = {lo, hi, maxBits, tiny, zeros};
}

using SurveyFn = void (*)(llvm::ArrayRef<float>, const Thresholds &,
                          ChunkFacts &);

static void survey(llvm::ArrayRef<float> values, const Thresholds &at,
                   ChunkFacts &facts) {
  surveyChunk(values, at, facts);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
surveyAVX2(llvm::ArrayRef<float> values, const Thresholds &at,
           ChunkFacts &facts) {
  surveyChunk(values, at, facts);
}
#endif

static SurveyFn getSurvey() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return surveyAVX2;
#endif
  return survey;
}

/// Counts what 16 bit does not hold.
static void countLosses(llvm::ArrayRef<float> values, const Thresholds &at,
                        ConstantFacts &facts) {
  uint32_t over = 0, zero = 0, subnormal = 0, infinite = 0, nan = 0, lost = 0;
  for (float value : values) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= 0x7fffffff;
    over += bits - at.overflow < infinityBits - at.overflow;
    uint32_t isLost = bits - 1 < at.underflow;
    zero += isLost;
    uint32_t lostBits = isLost ? bits : 0;
    lost = lostBits > lost ? lostBits : lost;
    subnormal += bits - at.underflow - 1 < at.normal - at.underflow - 1;
    infinite += bits == infinityBits;
    nan += bits > infinityBits;
  }
  facts.overflows += over;
  facts.toZero += zero;
  facts.toSubnormal += subnormal;
  facts.infinities += infinite;
  facts.nans += nan;
  facts.largestToZero =
      std::max(facts.largestToZero, llvm::bit_cast<float>(lost));
}

static void widenByFinite(llvm::ArrayRef<float> values, ConstantFacts &facts) {
  for (float value : values) {
    if (!std::isfinite(value))
      continue;
    facts.lo = std::min(facts.lo, value);
    facts.hi = std::max(facts.hi, value);
  }
}

void scanElements(llvm::ArrayRef<float> values, const LowLimits &limits,
                  ConstantFacts &facts) {
  constexpr size_t chunkSize = 4096;
  const Thresholds at(limits);
  const SurveyFn surveyFn = getSurvey();
  facts.isKnown = true;
  facts.elements += values.size();
  while (!values.empty()) {
    auto chunk = values.take_front(chunkSize);
    values = values.drop_front(chunk.size());
    ChunkFacts found;
    surveyFn(chunk, at, found);
    facts.zeros += found.zeros;
    if (found.maxBits >= infinityBits) {
      widenByFinite(chunk, facts);
    } else {
      facts.lo = std::min(facts.lo, fromOrdered(found.lo));
      facts.hi = std::max(facts.hi, fromOrdered(found.hi));
    }
    if (found.tiny || found.maxBits >= at.overflow)
      countLosses(chunk, at, facts);
  }
}

} // namespace mp
