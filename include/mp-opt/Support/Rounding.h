//===- Rounding.h - fp32 to 16 bit and back ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounding is to nearest, ties to even, as in IEEE 754 conversions: values
// beyond the range become infinities, NaNs stay (quiet) NaNs with their sign
// and the upper bits of their payload, and fp16 subnormals are kept.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_ROUNDING_H
#define MPOPT_SUPPORT_ROUNDING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/bit.h"

#include <cstdint>

namespace mp {

inline uint16_t roundToBFloat16(float value) {
  auto bits = llvm::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  bool isNaN = (bits & 0x7fffffff) > 0x7f800000;
  return uint16_t(isNaN ? (bits >> 16 | 0x40) : rounded);
}

inline float widenBFloat16(uint16_t bits) {
  return llvm::bit_cast<float>(uint32_t(bits) << 16);
}

uint16_t roundToFloat16(float value);
float widenFloat16(uint16_t bits);

/// Rounds many values; `to` must have the same length.
void roundToBFloat16(llvm::ArrayRef<float> values, uint16_t *to);
void roundToFloat16(llvm::ArrayRef<float> values, uint16_t *to);

/// Clamps finite values to +-`bound`; infinities and NaNs stay.
void clampFinite(llvm::MutableArrayRef<float> values, float bound);

} // namespace mp

#endif // MPOPT_SUPPORT_ROUNDING_H
