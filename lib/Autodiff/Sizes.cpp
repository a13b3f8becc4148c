//===- Sizes.cpp - Arithmetic on sizes that may be unknown ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sizes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

Size::Size(Value value) : value(value) {
  if (auto numbers = getConstantInts(value); numbers && numbers->size() == 1) {
    known = numbers->front();
    this->value = {};
  }
}

std::optional<SmallVector<int64_t>> getKnown(ArrayRef<Size> sizes) {
  SmallVector<int64_t> numbers;
  for (const Size &size : sizes) {
    if (!size.isKnown())
      return std::nullopt;
    numbers.push_back(size.get());
  }
  return numbers;
}

Size SizeMath::of(Value value, int64_t axis) {
  return Size(b.dimOf(value, axis));
}

SmallVector<Size> SizeMath::from(Value value, int64_t first, int64_t end) {
  SmallVector<Size> sizes;
  end = NodeBuilder::getRank(value).value_or(end);
  for (int64_t axis = first; axis < end; ++axis)
    sizes.push_back(of(value, axis));
  return sizes;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Size SizeMath::combine(StringRef op, Size left, Size right,
                       int64_t (*fold)(int64_t, int64_t)) {
  if (left.isKnown() && right.isKnown())
    return fold(left.get(), right.get());
  return Size(b.create(op, {left.getValue(b), right.getValue(b)}));
}

Size SizeMath::add(Size left, Size right) {
  if (left.is(0))
    return right;
  if (right.is(0))
    return left;
  return combine("Add", left, right,
                 [](int64_t l, int64_t r) { return l + r; });
}

Size SizeMath::sub(Size left, Size right) {
  if (right.is(0))
    return left;
  return combine("Sub", left, right,
                 [](int64_t l, int64_t r) { return l - r; });
}

Size SizeMath::mul(Size left, Size right) {
  if (left.is(1))
    return right;
  if (right.is(1))
    return left;
  return combine("Mul", left, right,
                 [](int64_t l, int64_t r) { return l * r; });
}

Size SizeMath::div(Size left, Size right) {
  if (right.is(1))
    return left;
  return combine("Div", left, right,
                 [](int64_t l, int64_t r) { return r ? l / r : 0; });
}

Size SizeMath::max(Size left, Size right) {
  return combine("Max", left, right,
                 [](int64_t l, int64_t r) { return std::max(l, r); });
}

Size SizeMath::min(Size left, Size right) {
  return combine("Min", left, right,
                 [](int64_t l, int64_t r) { return std::min(l, r); });
}

//===----------------------------------------------------------------------===//
// Tensors with such sizes
//===----------------------------------------------------------------------===//

Value SizeMath::vector(ArrayRef<Size> sizes) {
  if (auto numbers = getKnown(sizes))
    return b.ints(*numbers);
  return b.concat(
      llvm::map_to_vector(sizes, [&](const Size &s) { return s.getValue(b); }),
      0);
}

Value SizeMath::scalar(Size size, Type elementType) {
  if (size.isKnown())
    return b.scalar(double(size.get()), elementType);
  return b.castTo(b.squeeze(size.getValue(b), 0), elementType);
}

Value SizeMath::range(Size size) {
  if (size.isKnown() && size.get() <= 4096)
    return b.ints(llvm::to_vector(llvm::seq<int64_t>(size.get())));
  Type element = b.getBuilder().getI64Type();
  return b.create("Range",
                  {b.intScalar(0), scalar(size, element), b.intScalar(1)});
}

Value SizeMath::pad(Value value, int64_t first, ArrayRef<Size> begins,
                    ArrayRef<Size> ends) {
  auto isZero = [](const Size &size) { return size.is(0); };
  if (llvm::all_of(begins, isZero) && llvm::all_of(ends, isZero))
    return value;
  SmallVector<Size> pads(first);
  pads.append(begins.begin(), begins.end());
  pads.append(first, Size());
  pads.append(ends.begin(), ends.end());
  return b.create("Pad", {value, vector(pads)});
}

Value SizeMath::crop(Value value, int64_t first, ArrayRef<Size> begins,
                     ArrayRef<Size> sizes) {
  SmallVector<Size> starts, ends;
  SmallVector<int64_t> axes;
  for (auto [index, begin] : llvm::enumerate(begins)) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && begin.is(0) && sizes[index].isKnown() &&
        type.getDimSize(first + index) == sizes[index].get())
      continue;
    axes.push_back(first + index);
    starts.push_back(begin);
    ends.push_back(add(begin, sizes[index]));
  }
  if (axes.empty())
    return value;
  return b.create("Slice", {value, vector(starts), vector(ends), b.ints(axes)});
}

} // namespace mp
