//===- Sorting.cpp - Code that sorts --------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sorting.h"

using namespace mlir;

namespace mp {

Value isLess(Scalars &s, Value x, Value y, bool isUnsigned) {
  Value isBelow = s.compare(Scalars::LT, x, y, isUnsigned);
  if (!Scalars::isFloat(x))
    return isBelow;
  Value isFirst = arith::AndIOp::create(
      s.b, s.loc, s.compare(Scalars::EQ, x, x), s.compare(Scalars::NE, y, y));
  return arith::OrIOp::create(s.b, s.loc, isBelow, isFirst);
}

/// Merges the sorted parts [low, middle) and [middle, high) of `from` into
/// `to`.
static Value merge(Emitter &e, TensorValue from, Value to, Size low,
                   Size middle, Size high, BeforeFn before) {
  Scalars &s = e.s;
  Value last = e.index(e.sub(e.dim(from, 0), e.size(1)));
  Value start[] = {e.index(low), e.index(middle), to};
  return e.loop(
      low, high, start, [&](Value k, ValueRange carried) -> SmallVector<Value> {
        Value i = carried[0], j = carried[1];
        Value hasLeft = s.compare(Scalars::LT, i, e.index(middle));
        Value hasRight = s.compare(Scalars::LT, j, e.index(high));
        // Both are read, also where a part is at its end.
        Value left = e.load(from, s.min(i, last));
        Value right = e.load(from, s.min(j, last));
        Value isBefore = before(s.toIndex(right), s.toIndex(left));
        Value takesRight =
            arith::OrIOp::create(e.b, e.loc, s.logicalNot(hasLeft), isBefore);
        takesRight = arith::AndIOp::create(e.b, e.loc, takesRight, hasRight);
        Value taken = s.select(takesRight, right, left);
        Value next = e.store(carried[2], from.element, k, taken);
        Value one = s.index(1), zero = s.index(0);
        return {s.add(i, s.select(takesRight, zero, one)),
                s.add(j, s.select(takesRight, one, zero)), next};
      })[2];
}

TensorValue sortIndices(Emitter &e, Size count, BeforeFn before) {
  Scalars &s = e.s;
  Type wide = e.b.getI64Type();
  TensorValue order = e.generate(count, wide, [&](ValueRange indices) {
    return s.fromIndex(indices[0], wide);
  });
  Value scratch = e.empty(count, wide);
  Value operands[] = {s.index(1), order.value, scratch};
  auto enter = [&](OpBuilder &nested) {
    e.b.setInsertionPoint(nested.getInsertionBlock(),
                          nested.getInsertionPoint());
  };
  auto loop = scf::WhileOp::create(
      e.b, e.loc, ValueRange(operands).getTypes(), operands,
      [&](OpBuilder &nested, Location, ValueRange carried) {
        OpBuilder::InsertionGuard guard(e.b);
        enter(nested);
        Value isOpen = s.compare(Scalars::LT, carried[0], e.index(count));
        scf::ConditionOp::create(e.b, e.loc, isOpen, carried);
      },
      [&](OpBuilder &nested, Location, ValueRange carried) {
        OpBuilder::InsertionGuard guard(e.b);
        enter(nested);
        Size width = Size(carried[0]), pair = e.mul(width, e.size(2));
        TensorValue from = {carried[1], wide};
        e.noteSizes(from.value, count);
        Value merged = e.loop(
            e.size(0), e.ceilDiv(count, pair), carried[2],
            [&](Value p, ValueRange inner) -> SmallVector<Value> {
              Size low = e.mul(Size(p), pair);
              Size middle = e.min(e.add(low, width), count);
              Size high = e.min(e.add(middle, width), count);
              return {merge(e, from, inner[0], low, middle, high, before)};
            })[0];
        Value copy =
            linalg::CopyOp::create(e.b, e.loc, merged, from.value).getResult(0);
        scf::YieldOp::create(e.b, e.loc,
                             ValueRange{e.index(pair), copy, merged});
      });
  e.noteSizes(loop.getResult(1), count);
  return {loop.getResult(1), wide};
}

} // namespace mp
