//===- Parameters.cpp - The values that training starts from --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements are read where they are mapped, in chunks: a first loop without a
// branch finds out whether a chunk holds what is looked for.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/Parameters.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

struct Element {
  int64_t index;
  double value;
};

} // namespace

/// The first element whose bits of the exponent are all set; data in a file
/// may lie at any offset.
template <typename Float, typename Bits>
static std::optional<Element> findSpecial(ArrayRef<char> bytes, Bits exponent) {
  static_assert(sizeof(Float) == sizeof(Bits));
  auto read = [&](size_t index) {
    Bits bits;
    memcpy(&bits, bytes.data() + index * sizeof bits, sizeof bits);
    return bits;
  };
  constexpr size_t chunkSize = 4096;
  size_t count = bytes.size() / sizeof(Bits);
  for (size_t begin = 0; begin < count; begin += chunkSize) {
    size_t end = std::min(count, begin + chunkSize);
    Bits found = 0;
    for (size_t index = begin; index < end; ++index)
      found |= Bits((read(index) & exponent) == exponent);
    for (size_t index = begin; found && index < end; ++index)
      if ((read(index) & exponent) == exponent)
        return Element{int64_t(index),
                       double(llvm::bit_cast<Float>(read(index)))};
  }
  return std::nullopt;
}

static std::optional<Element> findSpecial(TypedAttr value) {
  ArrayRef<char> bytes;
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(value)) {
    bytes = elements.getRawData();
  } else if (auto elements =
                 dyn_cast_or_null<DenseResourceElementsAttr>(value)) {
    if (AsmResourceBlob *blob = elements.getRawHandle().getBlob())
      bytes = blob->getData();
  }
  if (bytes.empty())
    return std::nullopt;
  Type element = getTensorElementType(value.getType());
  if (element && element.isF32())
    return findSpecial<float, uint32_t>(bytes, 0x7f800000);
  if (element && element.isF64())
    return findSpecial<double, uint64_t>(bytes, 0x7ff0000000000000);
  return std::nullopt;
}

/// "[1, 2]", where an element is in a tensor of this shape.
static std::string formatPlace(ArrayRef<int64_t> shape, int64_t index) {
  SmallVector<std::string> places;
  for (int64_t size : llvm::reverse(shape)) {
    places.push_back(std::to_string(index % size));
    index /= size;
  }
  return "[" + llvm::join(llvm::reverse(places), ", ") + "]";
}

LogicalResult checkFinite(InitializerOp parameter) {
  TypedAttr value = parameter.getValueAttr();
  std::optional<Element> found = findSpecial(value);
  if (!found)
    return success();
  ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
  return parameter.emitError()
         << "parameter '" << parameter.getName() << "': its element "
         << formatPlace(shape, found->index) << " is "
         << (std::isnan(found->value) ? "NaN" : "infinite")
         << ", and would stay so";
}

} // namespace mp
