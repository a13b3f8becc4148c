//===- Rounding.cpp - fp32 to 16 bit and back -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/Rounding.h"

#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace llvm;

namespace mp {

uint16_t roundToFloat16(float value) {
  auto bits = bit_cast<uint32_t>(value);
  auto sign = uint16_t(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) // NaN
    return uint16_t(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) // rounds to 2^16 or more
    return uint16_t(sign | 0x7c00);
  if (magnitude < 0x38800000) {
    // Subnormal: adding 0.5 leaves the rounded result in the low bits.
    float shifted = bit_cast<float>(magnitude) + 0.5f;
    return uint16_t(sign | (bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return uint16_t(sign | ((rounded - 0x38000000) >> 13));
}

float widenFloat16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 0x1f;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f)
    return bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) // exact: mantissa * 2^-24
    return bit_cast<float>(sign |
                           bit_cast<uint32_t>(float(mantissa) * 0x1p-24f));
  return bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

void roundToBFloat16(ArrayRef<float> values, uint16_t *to) {
  for (float value : values)
    *to++ = roundToBFloat16(value);
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) static size_t
roundWithF16C(ArrayRef<float> values, uint16_t *to) {
  size_t done = 0;
  for (; done + 8 <= values.size(); done += 8) {
    __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(values.data() + done),
                                   _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to + done), half);
  }
  return done;
}
#endif

void roundToFloat16(ArrayRef<float> values, uint16_t *to) {
  size_t done = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c"))
    done = roundWithF16C(values, to);
#endif
  for (; done < values.size(); ++done)
    to[done] = roundToFloat16(values[done]);
}

void clampFinite(MutableArrayRef<float> values, float bound) {
  for (float &value : values)
    if (std::isfinite(value) && std::fabs(value) > bound)
      value = std::copysign(bound, value);
}

} // namespace mp
