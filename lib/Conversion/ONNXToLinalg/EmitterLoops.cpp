//===- EmitterLoops.cpp - Loops, branches and checks ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

using namespace mlir;

namespace mp {

SmallVector<Value> Emitter::loop(Size begin, Size end, ValueRange carried,
                                 LoopFn body) {
  auto op = scf::ForOp::create(
      b, loc, index(begin), index(end), s.index(1), carried,
      [&](OpBuilder &nested, Location, Value i, ValueRange values) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        scf::YieldOp::create(b, loc, body(i, values));
      });
  return op.getResults();
}

SmallVector<Value> Emitter::loopNest(
    ArrayRef<Size> sizes, ValueRange carried,
    function_ref<SmallVector<Value>(ValueRange, ValueRange)> body) {
  SmallVector<Value> indices;
  std::function<SmallVector<Value>(unsigned, ValueRange)> nest =
      [&](unsigned axis, ValueRange values) -> SmallVector<Value> {
    if (axis == sizes.size())
      return body(indices, values);
    return loop(size(0), sizes[axis], values, [&](Value i, ValueRange inner) {
      indices.push_back(i);
      SmallVector<Value> results = nest(axis + 1, inner);
      indices.pop_back();
      return results;
    });
  };
  return nest(0, carried);
}

SmallVector<Value>
Emitter::ifElse(Value condition, TypeRange types,
                function_ref<SmallVector<Value>()> thenBody,
                function_ref<SmallVector<Value>()> elseBody) {
  auto op = scf::IfOp::create(b, loc, types, condition, /*withElse=*/true);
  auto fill = [&](Block *block, function_ref<SmallVector<Value>()> body) {
    OpBuilder::InsertionGuard guard(b);
    if (block->mightHaveTerminator() && block->getTerminator())
      block->getTerminator()->erase();
    b.setInsertionPointToEnd(block);
    scf::YieldOp::create(b, loc, body());
  };
  fill(op.thenBlock(), thenBody);
  fill(op.elseBlock(), elseBody);
  return op.getResults();
}

void Emitter::check(Value condition, const Twine &text, Size x, Size y) {
  if (matchPattern(condition, m_One()))
    return;
  Value fails = s.logicalNot(condition);
  Value a = index(x), c = index(y);
  auto op = scf::IfOp::create(b, loc, fails, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  runtime::FailOp::create(b, loc, b.getStringAttr(what + ": " + text), a, c,
                          /*parallel=*/false);
}

Value Emitter::checked(Value condition, const Twine &text, Value value,
                       Size limit, Value good) {
  if (matchPattern(condition, m_One()))
    return value;
  Value fails = s.logicalNot(condition);
  Value bound = index(limit);
  auto op = scf::IfOp::create(b, loc, fails, /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.thenBlock());
    runtime::FailOp::create(b, loc, b.getStringAttr(what + ": " + text), value,
                            bound, /*parallel=*/true);
  }
  return s.select(fails, good, value);
}

Value Emitter::checkedIndex(Value value, Size limit) {
  Value bound = index(limit), zero = s.index(0);
  Value isNegative = s.compare(Scalars::LT, value, zero);
  Value wrapped = s.select(isNegative, s.add(value, bound), value);
  Value isGood = s.compare(Scalars::LT, wrapped, bound, /*isUnsigned=*/true);
  Value shown = checked(isGood, "index %0 is out of range for size %1", value,
                        limit, value);
  (void)shown;
  return s.select(isGood, wrapped, zero);
}

} // namespace mp
