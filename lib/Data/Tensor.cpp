//===- Tensor.cpp - Tensors as data ---------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Data/Tensor.h"

#include "mp-opt/Support/Rounding.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cstdlib>
#include <cstring>

using namespace llvm;

namespace mp {

unsigned getElementBytes(ElementKind kind) {
  switch (kind) {
  case ElementKind::Bool:
  case ElementKind::UInt8:
  case ElementKind::Int8:
  case ElementKind::Float8E4M3FN:
  case ElementKind::Float8E4M3FNUZ:
  case ElementKind::Float8E5M2:
  case ElementKind::Float8E5M2FNUZ:
  case ElementKind::Float8E8M0:
    return 1;
  case ElementKind::UInt16:
  case ElementKind::Int16:
  case ElementKind::Float16:
  case ElementKind::BFloat16:
    return 2;
  case ElementKind::Float:
  case ElementKind::Int32:
  case ElementKind::UInt32:
    return 4;
  case ElementKind::Double:
  case ElementKind::Int64:
  case ElementKind::UInt64:
  case ElementKind::Complex64:
    return 8;
  case ElementKind::Complex128:
    return 16;
  default:
    return 0;
  }
}

std::optional<int64_t> getByteCount(ArrayRef<int64_t> sizes,
                                    int64_t elementBytes) {
  int64_t count = elementBytes;
  bool isEmpty = false;
  for (int64_t size : sizes) {
    if (size < 0)
      return std::nullopt;
    isEmpty |= size == 0;
  }
  if (isEmpty)
    return 0;
  for (int64_t size : sizes)
    if (MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

Expected<Tensor> Tensor::create(ElementKind kind, ArrayRef<int64_t> sizes) {
  unsigned element = getElementBytes(kind);
  std::optional<int64_t> bytes = getByteCount(sizes, element);
  if (!element)
    return createStringError("tensors of type " + getElementKindName(kind) +
                             " have no elements of whole bytes");
  // The sum below must not overflow, nor must pointers into the tensor.
  constexpr int64_t most = int64_t(1) << 47;
  constexpr size_t alignment = 64;
  void *data = nullptr;
  if (bytes && *bytes < most)
    data = std::aligned_alloc(alignment,
                              alignTo(std::max<size_t>(*bytes, 1), alignment));
  if (!data)
    return createStringError("no memory for a tensor of type " +
                             describeType(kind, sizes));
  std::memset(data, 0, *bytes);
  return Tensor(kind, sizes, data, std::shared_ptr<void>(data, std::free));
}

Tensor::Tensor(ElementKind kind, ArrayRef<int64_t> sizes, void *data,
               std::shared_ptr<void> owner)
    : kind(kind), sizes(sizes.begin(), sizes.end()), data(data),
      owner(std::move(owner)) {}

int64_t Tensor::getNumElements() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

Expected<Tensor> Tensor::clone() const {
  Expected<Tensor> copy = create(kind, sizes);
  if (copy && getNumBytes())
    std::memcpy(copy->getData(), data, getNumBytes());
  return copy;
}

Expected<Tensor> Tensor::makeOwn(Tensor tensor) {
  auto *free = std::get_deleter<decltype(&std::free)>(tensor.owner);
  if (free && *free == &std::free && tensor.owner.use_count() == 1)
    return tensor;
  return tensor.clone();
}

//===----------------------------------------------------------------------===//
// Elements as float64
//===----------------------------------------------------------------------===//

template <typename T>
static void widen(const Tensor &tensor, std::vector<double> &to) {
  ArrayRef<T> elements = tensor.get<T>();
  to.assign(elements.begin(), elements.end());
}

static const fltSemantics &getFloat8Semantics(ElementKind kind) {
  switch (kind) {
  case ElementKind::Float8E4M3FN:
    return APFloat::Float8E4M3FN();
  case ElementKind::Float8E4M3FNUZ:
    return APFloat::Float8E4M3FNUZ();
  case ElementKind::Float8E5M2:
    return APFloat::Float8E5M2();
  case ElementKind::Float8E5M2FNUZ:
    return APFloat::Float8E5M2FNUZ();
  default:
    return APFloat::Float8E8M0FNU();
  }
}

static void widenFloat8(const Tensor &tensor, std::vector<double> &to) {
  std::array<double, 256> values;
  const fltSemantics &semantics = getFloat8Semantics(tensor.getKind());
  for (unsigned bits = 0; bits < values.size(); ++bits)
    values[bits] = APFloat(semantics, APInt(8, bits)).convertToDouble();
  for (uint8_t bits : tensor.get<uint8_t>())
    to.push_back(values[bits]);
}

std::vector<double> Tensor::toDoubles() const {
  std::vector<double> values;
  values.reserve(getNumElements());
  switch (kind) {
  case ElementKind::Float:
    widen<float>(*this, values);
    break;
  case ElementKind::Double:
    widen<double>(*this, values);
    break;
  case ElementKind::Bool:
  case ElementKind::UInt8:
    widen<uint8_t>(*this, values);
    break;
  case ElementKind::Int8:
    widen<int8_t>(*this, values);
    break;
  case ElementKind::UInt16:
    widen<uint16_t>(*this, values);
    break;
  case ElementKind::Int16:
    widen<int16_t>(*this, values);
    break;
  case ElementKind::UInt32:
    widen<uint32_t>(*this, values);
    break;
  case ElementKind::Int32:
    widen<int32_t>(*this, values);
    break;
  case ElementKind::UInt64:
    widen<uint64_t>(*this, values);
    break;
  case ElementKind::Int64:
    widen<int64_t>(*this, values);
    break;
  case ElementKind::Float16:
    for (uint16_t bits : get<uint16_t>())
      values.push_back(widenFloat16(bits));
    break;
  case ElementKind::BFloat16:
    for (uint16_t bits : get<uint16_t>())
      values.push_back(widenBFloat16(bits));
    break;
  case ElementKind::Complex64:
    for (float part : MutableArrayRef(static_cast<float *>(data),
                                      size_t(getNumElements() * 2)))
      values.push_back(part);
    break;
  case ElementKind::Complex128:
    values.assign(static_cast<double *>(data),
                  static_cast<double *>(data) + getNumElements() * 2);
    break;
  default:
    if (getElementBytes(kind) == 1)
      widenFloat8(*this, values);
    break;
  }
  return values;
}

/// True if an element has all exponent bits set, i.e. is not finite.
template <typename Bits>
static bool hasExponent(const Tensor &tensor, Bits exponent) {
  constexpr size_t chunk = 4096;
  ArrayRef<Bits> elements = tensor.get<Bits>();
  while (!elements.empty()) {
    bool found = false;
    for (Bits bits : elements.take_front(chunk))
      found |= (bits & exponent) == exponent;
    if (found)
      return true;
    elements = elements.drop_front(std::min(chunk, elements.size()));
  }
  return false;
}

bool isFinite(const Tensor &tensor) {
  switch (tensor.getKind()) {
  case ElementKind::Float:
    return !hasExponent<uint32_t>(tensor, 0x7f800000);
  case ElementKind::Double:
    return !hasExponent<uint64_t>(tensor, 0x7ff0000000000000);
  case ElementKind::Float16:
    return !hasExponent<uint16_t>(tensor, 0x7c00);
  case ElementKind::BFloat16:
    return !hasExponent<uint16_t>(tensor, 0x7f80);
  default:
    return true;
  }
}

std::string describeType(ElementKind kind, ArrayRef<int64_t> sizes) {
  std::string text;
  raw_string_ostream os(text);
  StringRef name = getElementKindName(kind);
  os << (name.empty() ? "undefined" : name);
  if (sizes.empty())
    return text;
  os << "[";
  ListSeparator separator(",");
  for (int64_t size : sizes) {
    os << separator;
    if (size < 0)
      os << "?";
    else
      os << size;
  }
  os << "]";
  return text;
}

} // namespace mp
