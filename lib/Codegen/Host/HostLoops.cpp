//===- HostLoops.cpp - Loops that keep a processor busy -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLoops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace mp {

/// The number of sums that keep all units of a processor busy. Empty assembly
/// uses them to prevent the compiler from moving the arithmetic.
constexpr int numSums = 12;
constexpr int numSteps = 4096;

#if defined(__x86_64__)

__attribute__((target("avx512f"))) static void multiplyWide() {
  __m512 sums[numSums], factor = _mm512_set1_ps(0.5f);
  for (__m512 &sum : sums)
    sum = factor;
  for (int step = 0; step < numSteps; ++step)
    for (__m512 &sum : sums) {
      sum = _mm512_fmadd_ps(factor, factor, sum);
      asm volatile("" : "+v"(sum));
    }
}

__attribute__((target("avx2,fma"))) static void multiplyVectors() {
  __m256 sums[numSums], factor = _mm256_set1_ps(0.5f);
  for (__m256 &sum : sums)
    sum = factor;
  for (int step = 0; step < numSteps; ++step)
    for (__m256 &sum : sums) {
      sum = _mm256_fmadd_ps(factor, factor, sum);
      asm volatile("" : "+x"(sum));
    }
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) static void
multiplyPairs() {
  __m512 sums[numSums];
  auto factor = (__m512bh)_mm512_set1_epi32(0x3f003f00);
  for (__m512 &sum : sums)
    sum = _mm512_set1_ps(0.5f);
  for (int step = 0; step < numSteps; ++step)
    for (__m512 &sum : sums) {
      sum = _mm512_dpbf16_ps(sum, factor, factor);
      asm volatile("" : "+v"(sum));
    }
}

/// Palette 1, each tile of 16 rows of 64 bytes.
struct alignas(64) TileSettings {
  unsigned char palette = 1, start = 0, reserved[14] = {};
  unsigned short rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  unsigned char rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

__attribute__((target("amx-tile,amx-bf16"))) static void multiplyTiles() {
  TileSettings settings;
  _tile_loadconfig(&settings);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  for (int step = 0; step < numSteps / 16; ++step) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  _tile_release();
}

HostLoop getFloatLoop(InstructionSet isa) {
  if (isa == InstructionSet::AVX512)
    return {multiplyWide, 16.0 * numSums * numSteps};
  return {multiplyVectors, 8.0 * numSums * numSteps};
}

HostLoop getNarrowLoop(Products products) {
  if (products == Products::Dot)
    return {multiplyPairs, 32.0 * numSums * numSteps};
  if (products == Products::AMX)
    return {multiplyTiles, 16.0 * 16 * 32 * 4 * (numSteps / 16)};
  return {};
}

#elif defined(__aarch64__)

static void multiplyVectors() {
  float32x4_t sums[numSums], factor = vdupq_n_f32(0.5f);
  for (float32x4_t &sum : sums)
    sum = factor;
  for (int step = 0; step < numSteps; ++step)
    for (float32x4_t &sum : sums) {
      sum = vfmaq_f32(sum, factor, factor);
      asm volatile("" : "+w"(sum));
    }
}

HostLoop getFloatLoop(InstructionSet) {
  return {multiplyVectors, 4.0 * numSums * numSteps};
}

HostLoop getNarrowLoop(Products) { return {}; }

#else

HostLoop getFloatLoop(InstructionSet) { return {}; }
HostLoop getNarrowLoop(Products) { return {}; }

#endif

} // namespace mp
