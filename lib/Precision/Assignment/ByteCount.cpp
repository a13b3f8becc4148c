//===- ByteCount.cpp - Sizes of values in bytes ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Assignment/ByteCount.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mp {

/// The bits of an element; 0 for strings and other types without a fixed width.
static uint64_t getElementBits(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * getElementBits(complex.getElementType());
  if (!type.isIntOrFloat())
    return 0;
  // A bool takes a byte; narrower integers are packed.
  return type.isInteger(1) ? 8 : type.getIntOrFloatBitWidth();
}

ByteCount countBytes(Type type, Type elementType) {
  ByteCount count;
  auto tensor = dyn_cast<TensorType>(type);
  uint64_t bits = tensor && elementType ? getElementBits(elementType) : 0;
  count.isUnknown = !bits;
  count.isDynamic = bits && !tensor.hasStaticShape();
  if (!bits)
    return count;
  if (!tensor.hasRank())
    bits *= defaultElements;
  else
    for (int64_t dim : tensor.getShape())
      bits = llvm::SaturatingMultiply(
          bits, uint64_t(ShapedType::isDynamic(dim) ? defaultDimension : dim));
  count.bytes = bits == UINT64_MAX ? bits : llvm::divideCeil(bits, 8);
  return count;
}

ByteCount countBytes(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return countBytes(type, tensor ? tensor.getElementType() : Type());
}

ByteCount countBytes(Value value, const ValueSizes &sizes) {
  ByteCount count = countBytes(value.getType());
  if (!count.isDynamic)
    return count;
  uint64_t bits =
      getElementBits(cast<TensorType>(value.getType()).getElementType());
  count.bytes = llvm::divideCeil(
      llvm::SaturatingMultiply(bits, uint64_t(sizes.getElements(value))), 8);
  return count;
}

} // namespace mp
