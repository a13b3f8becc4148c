//===- ConstantScan.cpp - One pass over a constant ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements are read in chunks that stay in the nearest cache. A first loop
// without a branch classifies a chunk; further loops count the elements only if
// 16 bit does not hold all of them in full.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Precision/Analysis/Constants.h"

#include "mp-opt/Support/Rounding.h"

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mp {

std::optional<ElementKind> parseLowPrecision(llvm::StringRef name) {
  if (name == "bf16")
    return ElementKind::BFloat16;
  if (name == "fp16")
    return ElementKind::Float16;
  return std::nullopt;
}

mlir::FailureOr<ElementKind> resolveLowPrecision(mlir::ModuleOp module,
                                                 llvm::StringRef option) {
  mlir::Type chosen = getLowType(module);
  if (option.empty())
    return chosen ? onnxir::getElementKind(chosen) : ElementKind::BFloat16;
  if (std::optional<ElementKind> low = parseLowPrecision(option))
    return *low;
  return module.emitError()
         << "unknown precision '" << option << "', expected 'bf16' or 'fp16'";
}

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

/// The limits as bits, which have the same order as magnitudes.
struct Thresholds {
  explicit Thresholds(const LowLimits &limits)
      : overflow(llvm::bit_cast<int32_t>(limits.overflow)),
        underflow(llvm::bit_cast<int32_t>(limits.underflow)),
        normal(llvm::bit_cast<int32_t>(float(limits.minNormal))) {}
  int32_t overflow, underflow, normal;
};

struct ChunkFacts {
  /// NaNs are skipped.
  float lo = std::numeric_limits<float>::infinity();
  float hi = -std::numeric_limits<float>::infinity();
  int32_t minBits = INT32_MAX, maxBits = 0;
  /// Counted only if some element is tiny.
  int32_t zeros = 0, toZero = 0, toSubnormal = 0, largestToZero = 0;
};

} // namespace

static constexpr int32_t infinityBits = 0x7f800000;

static inline __attribute__((always_inline)) int32_t getMagnitude(float value) {
  int32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits & 0x7fffffff;
}

// Signed integers and one accumulator per lane, which compilers can vectorize
// without reordering floats.
static inline __attribute__((always_inline)) void
surveyChunk(llvm::ArrayRef<float> values, ChunkFacts &facts) {
  constexpr unsigned lanes = 16;
  float lo[lanes], hi[lanes];
  int32_t minBits[lanes], maxBits[lanes];
  std::fill_n(lo, lanes, facts.lo);
  std::fill_n(hi, lanes, facts.hi);
  std::fill_n(minBits, lanes, facts.minBits);
  std::fill_n(maxBits, lanes, facts.maxBits);
  auto take = [&](float value, unsigned lane) {
    int32_t bits = getMagnitude(value);
    lo[lane] = value < lo[lane] ? value : lo[lane];
    hi[lane] = value > hi[lane] ? value : hi[lane];
    minBits[lane] = bits < minBits[lane] ? bits : minBits[lane];
    maxBits[lane] = bits > maxBits[lane] ? bits : maxBits[lane];
  };
  size_t index = 0, size = values.size();
  const float *data = values.data();
  for (; index + lanes <= size; index += lanes)
    for (unsigned lane = 0; lane < lanes; ++lane)
      take(data[index + lane], lane);
  for (; index < size; ++index)
    take(data[index], 0);
  facts.lo = *std::min_element(lo, lo + lanes);
  facts.hi = *std::max_element(hi, hi + lanes);
  facts.minBits = *std::min_element(minBits, minBits + lanes);
  facts.maxBits = *std::max_element(maxBits, maxBits + lanes);
}

static inline __attribute__((always_inline)) void
countTiny(llvm::ArrayRef<float> values, const Thresholds &at,
          ChunkFacts &facts) {
  int32_t zeros = 0, atMostZero = 0, belowNormal = 0, lost = 0;
  const int32_t underflow = at.underflow, normal = at.normal;
  for (float value : values) {
    int32_t bits = getMagnitude(value);
    zeros += bits == 0;
    atMostZero += bits <= underflow;
    belowNormal += bits < normal;
    int32_t lostBits = bits <= underflow ? bits : 0;
    lost = lostBits > lost ? lostBits : lost;
  }
  facts.zeros = zeros;
  facts.toZero = atMostZero - zeros;
  facts.toSubnormal = belowNormal - atMostZero;
  facts.largestToZero = lost;
}

static inline __attribute__((always_inline)) void
readChunk(llvm::ArrayRef<float> values, const Thresholds &at,
          ChunkFacts &facts) {
  surveyChunk(values, facts);
  if (facts.minBits < at.normal)
    countTiny(values, at, facts);
}

using ReadFn = void (*)(llvm::ArrayRef<float>, const Thresholds &,
                        ChunkFacts &);

static void readPlain(llvm::ArrayRef<float> values, const Thresholds &at,
                      ChunkFacts &facts) {
  readChunk(values, at, facts);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
readAVX2(llvm::ArrayRef<float> values, const Thresholds &at,
         ChunkFacts &facts) {
  readChunk(values, at, facts);
}
#endif

static ReadFn getReadFn() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return readAVX2;
#endif
  return readPlain;
}

/// Counts the few chunks with elements beyond the range.
static void countHuge(llvm::ArrayRef<float> values, const Thresholds &at,
                      ConstantFacts &facts) {
  for (float value : values) {
    int32_t bits = getMagnitude(value);
    facts.overflows += bits >= at.overflow && bits < infinityBits;
    facts.infinities += bits == infinityBits;
    facts.nans += bits > infinityBits;
  }
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
  const ReadFn read = getReadFn();
  facts.isKnown = true;
  facts.elements += values.size();
  while (!values.empty()) {
    auto chunk = values.take_front(chunkSize);
    values = values.drop_front(chunk.size());
    ChunkFacts found;
    read(chunk, at, found);
    facts.zeros += found.zeros;
    if (found.maxBits >= infinityBits) {
      widenByFinite(chunk, facts);
    } else {
      facts.lo = std::min(facts.lo, found.lo);
      facts.hi = std::max(facts.hi, found.hi);
    }
    facts.toZero += found.toZero;
    facts.toSubnormal += found.toSubnormal;
    facts.largestToZero = std::max(facts.largestToZero,
                                   llvm::bit_cast<float>(found.largestToZero));
    if (found.maxBits >= at.overflow)
      countHuge(chunk, at, facts);
  }
}

LowBounds scanLowElements(llvm::ArrayRef<char> bytes, ElementKind kind) {
  const bool isHalf = kind == ElementKind::Float16;
  const int16_t special = isHalf ? 0x7c00 : 0x7f80;
  LowBounds bounds;
  int16_t lo = special - 1, hi = -special;
  for (size_t index = 0; index + 1 < bytes.size(); index += 2) {
    int16_t bits;
    memcpy(&bits, bytes.data() + index, sizeof bits);
    bool isSpecial = (bits & 0x7fff) >= special;
    bounds.hasSpecials |= isSpecial;
    // Integers with the same order as the numbers.
    auto ordered = int16_t(bits ^ (int16_t(bits >> 15) & 0x7fff));
    lo = !isSpecial && ordered < lo ? ordered : lo;
    hi = !isSpecial && ordered > hi ? ordered : hi;
  }
  if (lo > hi)
    return bounds;
  auto widen = [&](int16_t ordered) {
    auto bits = uint16_t(ordered ^ (int16_t(ordered >> 15) & 0x7fff));
    return isHalf ? widenFloat16(bits) : widenBFloat16(bits);
  };
  bounds.lo = widen(lo);
  bounds.hi = widen(hi);
  return bounds;
}

} // namespace mp
