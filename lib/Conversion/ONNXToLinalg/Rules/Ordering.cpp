//===- Ordering.cpp - Places of elements, and running sums ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Movement.h"
#include "../Rules.h"
#include "../Sorting.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// ArgMax, ArgMin
//===----------------------------------------------------------------------===//

/// A value that is not better than any element: the lowest one if the greatest
/// element is wanted (`isMax`), otherwise the highest one.
static Value getExtreme(Scalars &s, Type type, bool isMax, bool isUnsigned) {
  if (isa<FloatType>(type))
    return s.constant(type, isMax ? -INFINITY : INFINITY);
  unsigned width = type.getIntOrFloatBitWidth();
  if (isUnsigned)
    return s.integer(type, isMax ? 0 : -1);
  return s.integer(type, isMax ? llvm::minIntN(width) : llvm::maxIntN(width));
}

/// Emits one reduction with two results: the element and its place. A NaN is
/// better than all numbers, as in numpy.
static LogicalResult argRule(NodeLowering &node, bool isMax) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  int64_t rank = x.getRank();
  auto axis = node.axis(rank);
  if (failed(axis))
    return failure();
  bool isLast = node.getFlag("select_last_index");
  bool isUnsigned = x.isUnsigned();
  Type type = getComputeType(x.element), wide = e.b.getI64Type();
  Sizes from = e.sizes(x), to(from);
  to.erase(to.begin() + *axis);
  SmallVector<AffineExpr> exprs;
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators[*axis] = utils::IteratorType::reduction;
  for (int64_t other = 0; other < rank; ++other)
    if (other != *axis)
      exprs.push_back(e.b.getAffineDimExpr(other));
  AffineMap kept = AffineMap::get(rank, 0, exprs, e.b.getContext());
  AffineMap maps[] = {e.b.getMultiDimIdentityMap(rank), kept, kept};
  Value best = tensor::EmptyOp::create(e.b, e.loc, to, type);
  best = linalg::FillOp::create(e.b, e.loc,
                                getExtreme(s, type, isMax, isUnsigned), best)
             .getResult(0);
  Value place = e.full(to, wide, 0.0).value;
  using kernel::Order;
  Order order = isMax ? (isLast ? Order::GE : Order::GT)
                      : (isLast ? Order::LE : Order::LT);
  auto op = linalg::GenericOp::create(
      e.b, e.loc, TypeRange{best.getType(), place.getType()}, x.value,
      ValueRange{best, place}, maps, iterators,
      [&](OpBuilder &nested, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(e.b);
        e.b.setInsertionPoint(nested.getInsertionBlock(),
                              nested.getInsertionPoint());
        Value value = s.widen(arguments[0], x.element);
        Value i = linalg::IndexOp::create(e.b, e.loc, *axis);
        auto selected = kernel::ArgSelectOp::create(
            e.b, e.loc, TypeRange{type, wide}, value, s.fromIndex(i, wide),
            arguments[1], arguments[2], order, isUnsigned);
        linalg::YieldOp::create(e.b, e.loc, selected->getResults());
      });
  e.noteSizes(op.getResult(1), to);
  TensorValue result = {op.getResult(1), wide};
  if (node.keepDims()) {
    to.insert(to.begin() + *axis, e.size(1));
    result = e.reshape(result, to);
  }
  node.set(result);
  return success();
}

static LogicalResult argMaxRule(NodeLowering &node) {
  return argRule(node, true);
}
static LogicalResult argMinRule(NodeLowering &node) {
  return argRule(node, false);
}

//===----------------------------------------------------------------------===//
// TopK
//===----------------------------------------------------------------------===//

static FailureOr<Size> getTopCount(NodeLowering &node, Size extent) {
  Emitter &e = node.e;
  Size k;
  if (node.getVersion() < 10) {
    k = e.size(node.getInt("k"));
  } else if (auto given = node.ints(1); given && given->size() == 1) {
    k = given->front();
  } else {
    (void)node.fail("expected one number of elements");
    return failure();
  }
  auto count = Emitter::getConstant(k), all = Emitter::getConstant(extent);
  if (count && (*count < 0 || (all && *count > *all))) {
    (void)node.fail("found k = " + Twine(*count) + " for an axis of size " +
                    (all ? Twine(*all) : Twine("?")));
    return failure();
  }
  if (!count || !all)
    e.check(node.s.compare(Scalars::LE, e.index(k), e.index(extent), true),
            "found k = %0 for an axis of size %1", k, extent);
  return k;
}

static LogicalResult topKRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  auto axis = node.axis(x.getRank());
  if (failed(axis))
    return failure();
  Sizes from = e.sizes(x), to(from), outer(from);
  FailureOr<Size> k = getTopCount(node, from[*axis]);
  if (failed(k))
    return failure();
  bool isMax = node.getFlag("largest");
  bool isUnsigned = x.isUnsigned();
  to[*axis] = *k;
  outer[*axis] = e.size(1);
  Type wide = e.b.getI64Type();
  Value start[] = {e.empty(to, x.element), e.empty(to, wide)};
  auto results =
      e.loopNest(outer, start, [&](ValueRange at, ValueRange carried) {
        SmallVector<Value> place(at);
        auto load = [&](Value i) {
          place[*axis] = i;
          return e.load(x, place);
        };
        TensorValue order = sortIndices(e, from[*axis], [&](Value i, Value j) {
          Value left = load(i), right = load(j);
          return isMax ? isLess(s, right, left, isUnsigned)
                       : isLess(s, left, right, isUnsigned);
        });
        return e.loop(e.size(0), *k, carried,
                      [&](Value i, ValueRange inner) -> SmallVector<Value> {
                        Value index = e.load(order, i);
                        Value value = load(s.toIndex(index));
                        place[*axis] = i;
                        return {e.store(inner[0], x.element, place, value),
                                e.store(inner[1], wide, place, index)};
                      });
      });
  e.noteSizes(results[0], to);
  e.noteSizes(results[1], to);
  node.set(0, {results[0], x.element});
  node.set(1, {results[1], wide});
  return success();
}

//===----------------------------------------------------------------------===//
// CumSum, CumProd
//===----------------------------------------------------------------------===//

using StepFn = Value (*)(Scalars &, Value, Value);

/// Slices across the axis are added to an accumulator, one after the other.
static Value accumulateAlong(NodeLowering &node, int64_t axis, StepFn step,
                             double start) {
  Emitter &e = node.e;
  TensorValue x = node.in(0);
  bool isExclusive = node.getFlag("exclusive");
  bool isReverse = node.getFlag("reverse");
  Sizes sizes = e.sizes(x), across(sizes);
  across.erase(across.begin() + axis);
  // Sums of 16-bit floats are f32.
  Type element = x.isFloat() ? getComputeType(x.element) : x.element;
  Value first[] = {e.full(across, element, start).value,
                   e.empty(sizes, x.element)};
  Size extent = sizes[axis];
  return e.loop(
      e.size(0), extent, first,
      [&](Value i, ValueRange carried) -> SmallVector<Value> {
        Size place = Size(i);
        if (isReverse)
          place = e.sub(e.sub(extent, e.size(1)), place);
        Sizes offsets(sizes.size(), e.size(0));
        offsets[axis] = place;
        TensorValue sum = {carried[0], element};
        e.noteSizes(sum.value, across);
        Value all = carried[1];
        if (isExclusive)
          all = insertSlice(e, e.cast(sum, x.element), all, offsets, axis);
        TensorValue next = {accumulate(e, takeAt(e, x, axis, place), sum,
                                       [&](Value old, Value more) {
                                         return step(node.s, old, more);
                                       }),
                            element};
        e.noteSizes(next.value, across);
        if (!isExclusive)
          all = insertSlice(e, e.cast(next, x.element), all, offsets, axis);
        return {next.value, all};
      })[1];
}

static LogicalResult cumulativeRule(NodeLowering &node, StepFn step,
                                    double start) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  int64_t rank = x.getRank();
  std::optional<Sizes> given = node.ints(1);
  if (!given || given->size() != 1 || rank == 0)
    return node.fail("expected one axis");
  Sizes sizes = e.sizes(x);
  Size axis = given->front();
  Value result;
  if (auto constant = Emitter::getConstant(axis)) {
    auto normal = node.normalizeAxis(*constant, rank);
    if (failed(normal))
      return failure();
    result = accumulateAlong(node, *normal, step, start);
  } else {
    // One loop for each axis that it may be.
    Value place = e.index(axis);
    Value isNegative = s.compare(Scalars::LT, place, s.index(0));
    place = s.select(isNegative, s.add(place, s.index(rank)), place);
    e.check(s.compare(Scalars::LT, place, s.index(rank), true),
            "axis %0 of a tensor with %1 axes", axis, e.size(rank));
    Type type = e.getTensorType(sizes, x.element);
    std::function<Value(int64_t)> choose = [&](int64_t candidate) {
      if (candidate == rank - 1)
        return accumulateAlong(node, candidate, step, start);
      return e.ifElse(
          s.compare(Scalars::EQ, place, s.index(candidate)), type,
          [&]() -> SmallVector<Value> {
            return {accumulateAlong(node, candidate, step, start)};
          },
          [&]() -> SmallVector<Value> { return {choose(candidate + 1)}; })[0];
    };
    result = choose(0);
  }
  e.noteSizes(result, sizes);
  node.set({result, x.element});
  return success();
}

static LogicalResult cumSumRule(NodeLowering &node) {
  return cumulativeRule(
      node, [](Scalars &s, Value x, Value y) { return s.add(x, y); }, 0);
}
static LogicalResult cumProdRule(NodeLowering &node) {
  return cumulativeRule(
      node, [](Scalars &s, Value x, Value y) { return s.mul(x, y); }, 1);
}

ArrayRef<LoweringRule> getOrderingLowerings() {
  static const LoweringRule rules[] = {
      {"ArgMax", argMaxRule}, {"ArgMin", argMinRule}, {"CumProd", cumProdRule},
      {"CumSum", cumSumRule}, {"TopK", topKRule},
  };
  return rules;
}

} // namespace mp
