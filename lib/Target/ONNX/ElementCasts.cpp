//===- ElementCasts.cpp - Conversion of elements while they are written ---===//
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

void TensorData::convert(uint64_t first, MutableArrayRef<char> result) const {
  size_t count = result.size() / mp::getSize(to);
  const char *source = bytes.data() + first * mp::getSize(from);
  std::vector<float> values(count);
  std::vector<uint16_t> bits(count);
  if (from == ElementKind::Float) {
    memcpy(values.data(), source, count * sizeof(float));
  } else {
    memcpy(bits.data(), source, count * sizeof(uint16_t));
    widen(bits, from, values.data());
  }
  if (std::isfinite(clamp))
    clampFinite(values, clamp);
  if (through != ElementKind::Undefined) {
    narrow(values, through, bits.data());
    widen(bits, through, values.data());
  }
  if (to == ElementKind::Float) {
    memcpy(result.data(), values.data(), result.size());
    return;
  }
  narrow(values, to, bits.data());
  memcpy(result.data(), bits.data(), result.size());
}

void TensorData::read(uint64_t begin, MutableArrayRef<char> result) const {
  if (result.empty())
    return;
  if (from == to && through == ElementKind::Undefined &&
      !std::isfinite(clamp)) {
    memcpy(result.data(), bytes.data() + begin, result.size());
    return;
  }
  // The elements converted in one step fit into the cache. Blocks of a file may
  // begin and end inside of an element.
  constexpr uint64_t elements = 4096;
  const unsigned size = mp::getSize(to);
  std::vector<char> converted(elements * size);
  while (!result.empty()) {
    uint64_t first = begin / size, skipped = begin % size;
    uint64_t count =
        std::min<uint64_t>(elements, divideCeil(skipped + result.size(), size));
    convert(first, {converted.data(), count * size});
    size_t copied = std::min<size_t>(result.size(), count * size - skipped);
    memcpy(result.data(), converted.data() + skipped, copied);
    result = result.drop_front(copied);
    begin += copied;
  }
}

std::string TensorData::readAll() const {
  std::string result(getSize(), '\0');
  read(0, {result.data(), result.size()});
  return result;
}

} // namespace mp
