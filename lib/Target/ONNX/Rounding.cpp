//===- Rounding.cpp - Conversion of elements while they are written -------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "mp-opt/Support/Rounding.h"

#include <cmath>

using namespace llvm;

namespace mp {

static unsigned getSize(ElementKind kind) {
  switch (kind) {
  case ElementKind::Float:
    return 4;
  case ElementKind::Float16:
  case ElementKind::BFloat16:
    return 2;
  default:
    return 0;
  }
}

uint64_t TensorData::getSize() const {
  return from == to ? bytes.size()
                    : bytes.size() / mp::getSize(from) * mp::getSize(to);
}

/// Rounds to the 16-bit type `kind`, as bits.
static void narrow(ArrayRef<float> values, ElementKind kind, uint16_t *to) {
  if (kind == ElementKind::BFloat16)
    roundToBFloat16(values, to);
  else
    roundToFloat16(values, to);
}

static void widen(ArrayRef<uint16_t> bits, ElementKind kind, float *to) {
  for (uint16_t item : bits)
    *to++ = kind == ElementKind::BFloat16 ? widenBFloat16(item)
                                          : widenFloat16(item);
}

void TensorData::write(raw_ostream &os) const {
  bool isClamped = std::isfinite(clamp);
  if (from == to && through == ElementKind::Undefined && !isClamped) {
    os.write(bytes.data(), bytes.size());
    return;
  }
  constexpr size_t chunk = 16384;
  std::vector<float> values(chunk);
  std::vector<uint16_t> bits(chunk);
  unsigned size = mp::getSize(from);
  for (size_t begin = 0; begin < bytes.size(); begin += chunk * size) {
    size_t count = std::min(chunk, (bytes.size() - begin) / size);
    if (from == ElementKind::Float) {
      memcpy(values.data(), bytes.data() + begin, count * size);
    } else {
      memcpy(bits.data(), bytes.data() + begin, count * size);
      widen({bits.data(), count}, from, values.data());
    }
    if (isClamped)
      clampFinite({values.data(), count}, clamp);
    ArrayRef<float> current(values.data(), count);
    if (through != ElementKind::Undefined) {
      narrow(current, through, bits.data());
      widen({bits.data(), count}, through, values.data());
    }
    if (to == ElementKind::Float) {
      os.write(reinterpret_cast<const char *>(values.data()), count * 4);
      continue;
    }
    narrow(current, to, bits.data());
    os.write(reinterpret_cast<const char *>(bits.data()), count * 2);
  }
}

} // namespace mp
