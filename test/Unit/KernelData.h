//===- KernelData.h - What kernels compute with -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TEST_UNIT_KERNELDATA_H
#define MPOPT_TEST_UNIT_KERNELDATA_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/bit.h"

#include <cstring>
#include <vector>

namespace mp {

inline std::vector<float> makeNumbers(size_t count, int seed = 1) {
  std::vector<float> values(count);
  for (size_t index = 0; index < count; ++index)
    values[index] =
        static_cast<float>((index * 37 + seed * 11) % 101) / 64 - 0.75f;
  return values;
}

inline uint16_t toBF16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
inline float fromBF16(uint16_t half) {
  uint32_t bits = half << 16;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

inline uint32_t toHalf(float value) {
  llvm::APFloat half(value);
  bool isInexact;
  half.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven,
               &isInexact);
  return static_cast<uint32_t>(half.bitcastToAPInt().getZExtValue());
}

/// Factors whose sums fp32 holds exactly, and the product.
struct Product {
  std::vector<uint16_t> a, b;
  std::vector<float> c, expected;

  Product(size_t m, size_t n, size_t k)
      : a(m * k), b(k * n), c(m * n, -1), expected(m * n) {
    for (size_t index = 0; index < a.size(); ++index)
      a[index] = toBF16(static_cast<float>(index * 7 % 33) - 16);
    for (size_t index = 0; index < b.size(); ++index)
      b[index] = toBF16(static_cast<float>(index * 5 % 29) - 14);
    for (size_t i = 0; i < m; ++i)
      for (size_t l = 0; l < k; ++l)
        for (size_t j = 0; j < n; ++j)
          expected[i * n + j] +=
              fromBF16(a[i * k + l]) * fromBF16(b[l * n + j]);
  }
  llvm::SmallVector<void *> getPointers() {
    return {a.data(), b.data(), c.data()};
  }
};

} // namespace mp

#endif // MPOPT_TEST_UNIT_KERNELDATA_H
