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
    // For subnormals, adding 0.5 leaves the rounded result in the low bits.
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

#if defined(__x86_64__)
/// The instruction of AVX-512 for this treats subnormals as zeros, so it is not
/// used.
__attribute__((target("avx2"))) static size_t
roundWithAVX2(ArrayRef<float> values, uint16_t *to) {
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i half = _mm256_set1_epi32(0x7fff);
  const __m256i quiet = _mm256_set1_epi32(0x400000);
  auto round = [&](const float *from) __attribute__((target("avx2"))) {
    __m256 value = _mm256_loadu_ps(from);
    __m256i bits = _mm256_castps_si256(value);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(half, odd));
    __m256i isNaN =
        _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    rounded = _mm256_blendv_epi8(rounded, _mm256_or_si256(bits, quiet), isNaN);
    return _mm256_srli_epi32(rounded, 16);
  };
  size_t done = 0;
  for (; done + 16 <= values.size(); done += 16) {
    // Packing works on halves of registers; the permutation corrects the order.
    __m256i packed = _mm256_packus_epi32(round(values.data() + done),
                                         round(values.data() + done + 8));
    packed = _mm256_permute4x64_epi64(packed, 0xd8);
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to + done), packed);
  }
  return done;
}
#endif

void roundToBFloat16(ArrayRef<float> values, uint16_t *to) {
  size_t done = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    done = roundWithAVX2(values, to);
#endif
  for (; done < values.size(); ++done)
    to[done] = roundToBFloat16(values[done]);
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
