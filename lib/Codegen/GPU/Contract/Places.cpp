//===- Places.cpp - Offsets of operands' elements -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Places.h"

using namespace mlir;

namespace mp::kernel::tiling {

/// The offset after the last element.
static int64_t getExtent(MemRefType type) {
  auto [strides, offset] = *getLayout(type);
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides))
    last += std::max<int64_t>(size - 1, 0) * std::abs(stride);
  return offset + last + 1;
}

Value makeLine(TileBuilder &e, MemRefType type, Value memory) {
  int64_t extent = getExtent(type);
  auto lineType =
      MemRefType::get({extent}, type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace());
  return memref::ReinterpretCastOp::create(e, lineType, memory, /*offset=*/0,
                                           ArrayRef<int64_t>{extent},
                                           ArrayRef<int64_t>{1});
}

OperandPlaces::OperandPlaces(TileBuilder &e, const Problem &problem,
                             unsigned operand, Value memory)
    : problem(problem), number(operand) {
  line = makeLine(e, problem.types[operand], memory);
  for (const Coordinate &bound : problem.bounds)
    if (bound.operand == operand)
      bounds.push_back(bound);
}

Type OperandPlaces::getElement() const {
  return problem.types[number].getElementType();
}

Place OperandPlaces::at(TileBuilder &e, GroupKind kind, Value flat,
                        int64_t step) const {
  Place place{e.index(0), SmallVector<Value>(bounds.size()), Value()};
  if (problem.sizes[kind] % step != 0)
    place.exists = e.isWithin(flat, problem.sizes[kind]);
  for (const View &view : problem.getViews(kind, number)) {
    Value i = e.div(flat, view.inner);
    if (view.size)
      i = e.rem(i, view.size);
    place.offset = e.add(place.offset, e.mul(i, view.step));
    for (auto [sum, factor] : llvm::zip_equal(place.coordinates, view.factors))
      if (factor != 0)
        sum = sum ? e.add(sum, e.mul(i, factor)) : e.mul(i, factor);
  }
  return place;
}

Place OperandPlaces::atBatch(TileBuilder &e, Value batch) const {
  Place place = at(e, Batch, batch, 1);
  place.offset = e.add(place.offset, problem.origins[number]);
  for (auto [sum, bound] : llvm::zip_equal(place.coordinates, bounds))
    if (bound.constant != 0)
      sum = sum ? e.add(sum, bound.constant) : e.index(bound.constant);
  return place;
}

Place OperandPlaces::add(TileBuilder &e, const Place &a, const Place &b) const {
  Place sum{e.add(a.offset, b.offset), {}, e.both(a.exists, b.exists)};
  for (auto [i, j] : llvm::zip_equal(a.coordinates, b.coordinates))
    sum.coordinates.push_back(i && j ? e.add(i, j) : i ? i : j);
  return sum;
}

Value OperandPlaces::isValid(TileBuilder &e, const Place &place) const {
  Value valid = place.exists;
  for (auto [coordinate, bound] : llvm::zip_equal(place.coordinates, bounds))
    valid = e.both(
        valid, e.isWithin(coordinate ? coordinate : e.index(0), bound.size));
  return valid;
}

} // namespace mp::kernel::tiling
