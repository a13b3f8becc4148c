//===- BFloat16.cpp - Conversions that LLVM calls functions for -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compilers' own libraries have these functions since GCC 13 and Clang 15. In
// that case either definition may be used.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Runtime/CompiledCode.h"

#include <cmath>
#include <cstring>

namespace {

uint32_t getBits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// Functions return bf16 in the lower half of a float.
float makeResult(uint32_t bits) {
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

/// Rounds to nearest, ties to even; NaNs become quiet.
float roundBits(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000)
    return makeResult(bits >> 16 | 0x40);
  return makeResult((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace

__attribute__((weak)) float __truncsfbf2(float x) {
  return roundBits(getBits(x));
}

__attribute__((weak)) float __truncdfbf2(double x) {
  auto narrow = static_cast<float>(x);
  uint32_t bits = getBits(narrow);
  // Round to odd, so that the second rounding sees no false ties.
  if (!std::isnan(x) && narrow != x) {
    bits -= std::fabs(static_cast<double>(narrow)) > std::fabs(x);
    bits |= 1;
  }
  return roundBits(bits);
}
