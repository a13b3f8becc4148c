//===- Lanes.cpp - Elements of vectors in another order -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

using namespace mlir;

namespace mp::kernel {

static SmallVector<Value> split(LoopBuilder &e, Value vector, int64_t count) {
  if (count == 1)
    return {vector};
  auto apart = vector::DeinterleaveOp::create(e, vector);
  SmallVector<Value> result;
  for (auto [even, odd] : llvm::zip(split(e, apart.getRes1(), count / 2),
                                    split(e, apart.getRes2(), count / 2)))
    result.append({even, odd});
  return result;
}

SmallVector<Value> splitLanes(LoopBuilder &e, Value vector, int64_t count) {
  Type element = getElementTypeOrSelf(vector.getType());
  if (element.getIntOrFloatBitWidth() != 16) {
    SmallVector<Value> result;
    for (Value laneGroup : split(e, vector, count))
      result.push_back(e.castFloat(laneGroup, e.getF32Type()));
    return result;
  }
  // Words of two elements each are moved, and split last.
  int64_t size = cast<VectorType>(vector.getType()).getDimSize(0);
  Value words = vector::BitCastOp::create(
      e, e.vectorType(e.getI32Type(), size / 2), vector);
  VectorType type = e.vectorType(e.getI32Type(), size / count);
  Value shift = e.splat(e.i32(16), size / count);
  auto widen = [&](Value word) -> Value {
    if (element.isBF16())
      return arith::BitcastOp::create(e, type.clone(e.getF32Type()), word);
    Value high = arith::TruncIOp::create(
        e, type.clone(e.getI16Type()), arith::ShRUIOp::create(e, word, shift));
    return e.castFloat(arith::BitcastOp::create(e, type.clone(element), high),
                       e.getF32Type());
  };
  Value mask = e.splat(e.i32(int32_t(0xffff0000)), size / count);
  SmallVector<Value> result;
  for (Value laneGroup : split(e, words, count / 2))
    result.append({widen(arith::ShLIOp::create(e, laneGroup, shift)),
                   widen(arith::AndIOp::create(e, laneGroup, mask))});
  return result;
}

Value joinLanes(LoopBuilder &e, ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return vectors.front();
  SmallVector<Value> even, odd;
  for (auto [number, value] : llvm::enumerate(vectors))
    (number % 2 ? odd : even).push_back(value);
  return vector::InterleaveOp::create(e, joinLanes(e, even), joinLanes(e, odd));
}

SmallVector<Value> transpose(LoopBuilder &e, ArrayRef<Value> rows) {
  // Interleaves row i with row i + n / 2, log2(n) times.
  int64_t count = rows.size();
  SmallVector<Value> current(rows);
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < count; ++i) {
    low.push_back(i / 2 + (i % 2) * count);
    high.push_back(count / 2 + i / 2 + (i % 2) * count);
  }
  for (int64_t step = 1; step < count; step *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < count / 2; ++i)
      for (ArrayRef<int64_t> order : {low, high})
        next.push_back(vector::ShuffleOp::create(
            e, current[i], current[i + count / 2], order));
    current = next;
  }
  return current;
}

} // namespace mp::kernel
