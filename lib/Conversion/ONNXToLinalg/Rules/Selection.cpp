//===- Selection.cpp - Results whose size the data tells ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Selected elements are counted first, or get room for the maximal number; the
// used part is the result.
//
//===----------------------------------------------------------------------===//

#include "../Movement.h"
#include "../Rules.h"
#include "../Sorting.h"

using namespace mlir;

namespace mp {

using Values = SmallVector<Value>;

/// The number of elements that are not zero.
static Size countNonZero(Emitter &e, TensorValue tensor) {
  Scalars &s = e.s;
  Type wide = e.b.getI64Type();
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, tensor.getRank()));
  TensorValue count = e.reduce(
      tensor, axes, false, wide, s.constant(wide, 0), [&](Value x, Value sum) {
        Value isOn = s.compare(Scalars::NE, x, s.like(x, 0));
        return s.add(sum, arith::ExtUIOp::create(e.b, e.loc, wide, isOn));
      });
  return Size(s.toIndex(e.load(count, {})));
}

//===----------------------------------------------------------------------===//
// NonZero, Compress
//===----------------------------------------------------------------------===//

static LogicalResult nonZeroRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  // A scalar counts as a vector of one.
  if (x.getRank() == 0)
    x = e.reshape(x, e.size(1));
  Type wide = e.b.getI64Type();
  Size count = countNonZero(e, x);
  Sizes to = {e.size(x.getRank()), count};
  Value start[] = {s.index(0), e.empty(to, wide)};
  auto results =
      e.loopNest(e.sizes(x), start, [&](ValueRange at, ValueRange carried) {
        Value element = e.load(x, at);
        Value isOn = s.compare(Scalars::NE, element, s.like(element, 0));
        return e.ifElse(
            isOn, carried.getTypes(),
            [&]() -> Values {
              Value out = carried[1];
              for (auto [axis, i] : llvm::enumerate(at))
                out = e.store(out, wide, {s.index(axis), carried[0]},
                              s.fromIndex(i, wide));
              return {s.add(carried[0], s.index(1)), out};
            },
            [&]() -> Values { return carried; });
      });
  e.noteSizes(results[1], to);
  node.set({results[1], wide});
  return success();
}

static LogicalResult compressRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue data = node.in(0), condition = node.in(1);
  int64_t axis = 0;
  if (!node.states("axis")) {
    data = e.reshape(data, e.product(e.sizes(data)));
  } else {
    auto normal = node.axis(data.getRank());
    if (failed(normal))
      return failure();
    axis = *normal;
  }
  if (condition.getRank() != 1)
    return node.fail("the condition has " + Twine(condition.getRank()) +
                     " axes, expected 1");
  Sizes from = e.sizes(data), to(from);
  Size length = e.dim(condition, 0);
  auto have = Emitter::getConstant(length),
       most = Emitter::getConstant(from[axis]);
  if (have && most && *have > *most)
    return node.fail("the condition has " + Twine(*have) +
                     " elements for an axis of size " + Twine(*most));
  if ((!have || !most) && length != from[axis])
    e.check(s.compare(Scalars::LE, e.index(length), e.index(from[axis])),
            "the condition has %0 elements for an axis of size %1", length,
            from[axis]);
  to[axis] = countNonZero(e, condition);
  Value start[] = {s.index(0), e.empty(to, data.element)};
  auto results =
      e.loop(e.size(0), length, start, [&](Value i, ValueRange carried) {
        return e.ifElse(
            e.load(condition, i), carried.getTypes(),
            [&]() -> Values {
              Sizes offsets(to.size(), e.size(0));
              offsets[axis] = Size(carried[0]);
              TensorValue part = takeAt(e, data, axis, Size(i));
              return {s.add(carried[0], s.index(1)),
                      insertSlice(e, part, carried[1], offsets, axis)};
            },
            [&]() -> Values { return carried; });
      });
  e.noteSizes(results[1], to);
  node.set({results[1], data.element});
  return success();
}

//===----------------------------------------------------------------------===//
// Unique
//===----------------------------------------------------------------------===//

namespace {

/// Groups of equal rows: the number of groups, the first row of each, the
/// number of rows of each, and the group of each row.
struct Groups {
  Size count;
  TensorValue firsts, lengths, ofRow;
};

} // namespace

/// True if row x is before row y in lexicographic order.
static Value isRowLess(Emitter &e, TensorValue rows, Value x, Value y) {
  Scalars &s = e.s;
  bool isUnsigned = rows.isUnsigned();
  Value no = s.integer(e.b.getI1Type(), 0);
  Value start[] = {no, no};
  return e.loop(
      e.size(0), e.dim(rows, 1), start,
      [&](Value j, ValueRange carried) -> Values {
        Value left = e.load(rows, {x, j}), right = e.load(rows, {y, j});
        Value isBelow = isLess(s, left, right, isUnsigned);
        Value isAbove = isLess(s, right, left, isUnsigned);
        Value differs = arith::OrIOp::create(e.b, e.loc, isBelow, isAbove);
        Value less = s.select(carried[0], carried[1], isBelow);
        return {arith::OrIOp::create(e.b, e.loc, carried[0], differs), less};
      })[1];
}

/// Groups are in sorted order; the first row of a group has the lowest index.
static Groups groupRows(Emitter &e, TensorValue rows) {
  Scalars &s = e.s;
  Type wide = e.b.getI64Type();
  Size extent = e.dim(rows, 0);
  auto before = [&](Value x, Value y) { return isRowLess(e, rows, x, y); };
  TensorValue order = sortIndices(e, extent, before);
  Value none = e.full(extent, wide, 0.0).value;
  // The number of groups so far, and their lists.
  Value start[] = {s.index(0), e.empty(extent, wide), none,
                   e.empty(extent, wide)};
  Value zero = s.index(0), one = s.index(1);
  auto results =
      e.loop(e.size(0), extent, start, [&](Value k, ValueRange v) -> Values {
        Value isFirst = s.compare(Scalars::EQ, k, zero);
        Value previous = s.select(isFirst, zero, s.sub(k, one));
        Value row = e.load(order, k);
        Value isNew = arith::OrIOp::create(
            e.b, e.loc, isFirst,
            before(s.toIndex(e.load(order, previous)), s.toIndex(row)));
        Value count = s.select(isNew, s.add(v[0], one), v[0]);
        Value group = s.sub(count, one);
        Value first = s.select(isNew, row, e.load({v[1], wide}, group));
        Value length = s.add(e.load({v[2], wide}, group), s.integer(wide, 1));
        return {count, e.store(v[1], wide, group, first),
                e.store(v[2], wide, group, length),
                e.store(v[3], wide, s.toIndex(row), s.fromIndex(group, wide))};
      });
  for (Value list : ArrayRef<Value>(results).drop_front())
    e.noteSizes(list, extent);
  Size count = Size(results[0]);
  return {count,
          takeFirst(e, {results[1], wide}, count),
          takeFirst(e, {results[2], wide}, count),
          {results[3], wide}};
}

/// The groups in the order in which they come first.
static void orderByFirst(Emitter &e, Groups &groups) {
  Scalars &s = e.s;
  Type wide = e.b.getI64Type();
  TensorValue firsts = groups.firsts, lengths = groups.lengths;
  TensorValue order = sortIndices(e, groups.count, [&](Value x, Value y) {
    return s.compare(Scalars::LT, e.load(firsts, x), e.load(firsts, y));
  });
  auto pick = [&](TensorValue list) {
    return e.map(wide, order,
                 [&](ValueRange v) { return e.load(list, s.toIndex(v[0])); });
  };
  Value start = e.empty(groups.count, wide);
  Value ranks = e.loop(
      e.size(0), groups.count, start, [&](Value k, ValueRange v) -> Values {
        Value group = s.toIndex(e.load(order, k));
        return {e.store(v[0], wide, group, s.fromIndex(k, wide))};
      })[0];
  groups.firsts = pick(firsts);
  groups.lengths = pick(lengths);
  groups.ofRow = e.map(wide, groups.ofRow, [&](ValueRange v) {
    return e.load({ranks, wide}, s.toIndex(v[0]));
  });
}

static LogicalResult uniqueRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue x = node.in(0);
  int64_t axis = 0;
  if (!node.states("axis")) {
    x = e.reshape(x, e.product(e.sizes(x)));
  } else {
    auto normal = node.axis(x.getRank());
    if (failed(normal))
      return failure();
    axis = *normal;
  }
  SmallVector<int64_t> permutation = {axis};
  for (int64_t other = 0; other < x.getRank(); ++other)
    if (other != axis)
      permutation.push_back(other);
  TensorValue turned = e.transpose(x, permutation);
  Sizes sizes = e.sizes(turned);
  TensorValue rows = e.reshape(
      turned, {sizes[0], e.product(ArrayRef<Size>(sizes).drop_front())});
  Groups groups = groupRows(e, rows);
  if (!node.getFlag("sorted"))
    orderByFirst(e, groups);
  Sizes to = e.sizes(x);
  to[axis] = groups.count;
  AffineMap map = AffineMap::get(to.size(), 0, e.b.getAffineDimExpr(axis));
  node.set(0, generateFrom(e, to, x.element, groups.firsts, map,
                           [&](ValueRange at, Value first) {
                             Values source(at);
                             source[axis] = node.s.toIndex(first);
                             return e.load(x, source);
                           }));
  node.set(1, groups.firsts);
  node.set(2, groups.ofRow);
  node.set(3, groups.lengths);
  return success();
}

//===----------------------------------------------------------------------===//
// NonMaxSuppression
//===----------------------------------------------------------------------===//

namespace {

/// A box by its corners.
struct Box {
  Value y1, x1, y2, x2;
};

/// The suppression of boxes of one class in one batch element.
struct Suppression {
  NodeLowering &node;
  TensorValue boxes, scores;
  bool isCentered;
  Value iouThreshold, scoreThreshold;
  Size most;

  Box load(Value batch, Value index) const;
  Value overlaps(Value batch, Value x, Value y) const;
  Values select(Value batch, Value kind, ValueRange carried) const;
};

} // namespace

Box Suppression::load(Value batch, Value index) const {
  Scalars &s = node.s;
  Value v[4];
  for (unsigned i = 0; i < 4; ++i)
    v[i] = node.e.load(boxes, {batch, index, s.index(i)});
  if (!isCentered)
    return {s.min(v[0], v[2]), s.min(v[1], v[3]), s.max(v[0], v[2]),
            s.max(v[1], v[3])};
  // x and y of the center, width, height.
  Value half = s.like(v[0], 0.5);
  Value width = s.mul(v[2], half), height = s.mul(v[3], half);
  return {s.sub(v[1], height), s.sub(v[0], width), s.add(v[1], height),
          s.add(v[0], width)};
}

/// True if the intersection of two boxes is too large a part of their union.
Value Suppression::overlaps(Value batch, Value x, Value y) const {
  Scalars &s = node.s;
  Box a = load(batch, x), b = load(batch, y);
  Value zero = s.like(a.x1, 0);
  Value width = s.sub(s.min(a.x2, b.x2), s.max(a.x1, b.x1));
  Value height = s.sub(s.min(a.y2, b.y2), s.max(a.y1, b.y1));
  Value shared = s.mul(s.max(width, zero), s.max(height, zero));
  auto area = [&](const Box &box) {
    return s.mul(s.sub(box.x2, box.x1), s.sub(box.y2, box.y1));
  };
  Value all = s.sub(s.add(area(a), area(b)), shared);
  return s.compare(Scalars::GT, s.div(shared, all), iouThreshold);
}

/// `carried`: the number of rows of the result, the result.
Values Suppression::select(Value batch, Value kind, ValueRange carried) const {
  Emitter &e = node.e;
  Scalars &s = node.s;
  Type wide = e.b.getI64Type();
  Size count = e.dim(boxes, 1);
  auto score = [&](Value i) { return e.load(scores, {batch, kind, i}); };
  TensorValue order = sortIndices(e, count, [&](Value x, Value y) {
    return isLess(s, score(y), score(x), false);
  });
  Value first = carried[0];
  auto results =
      e.loop(e.size(0), count, carried, [&](Value k, ValueRange v) -> Values {
        Value index = s.toIndex(e.load(order, k));
        Value isRoom =
            s.compare(Scalars::LT, s.sub(v[0], first), e.index(most));
        if (scoreThreshold)
          isRoom = arith::AndIOp::create(
              e.b, e.loc, isRoom,
              s.compare(Scalars::GT, score(index), scoreThreshold));
        // Nothing is compared once nothing can be added.
        Value end = s.select(isRoom, v[0], first);
        Value isGood =
            e.loop(first, end, isRoom, [&](Value j, ValueRange good) -> Values {
              Value other = s.toIndex(e.load({v[1], wide}, {j, s.index(2)}));
              Value isFar = s.logicalNot(overlaps(batch, index, other));
              return {arith::AndIOp::create(e.b, e.loc, good[0], isFar)};
            })[0];
        return e.ifElse(
            isGood, v.getTypes(),
            [&]() -> Values {
              Value row = v[1];
              for (auto [place, value] :
                   {std::pair(0, batch), std::pair(1, kind),
                    std::pair(2, index)})
                row = e.store(row, wide, {v[0], s.index(place)},
                              s.fromIndex(value, wide));
              return {s.add(v[0], s.index(1)), row};
            },
            [&]() -> Values { return v; });
      });
  return results;
}

static LogicalResult nonMaxSuppressionRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue boxes = node.in(0), scores = node.in(1);
  if (boxes.getRank() != 3 || scores.getRank() != 3)
    return node.fail("expected boxes and scores with three axes");
  Sizes from = e.sizes(boxes), kinds = e.sizes(scores);
  if (failed(checkEqual(node, from[2], e.size(4),
                        "a box has %0 numbers, expected %1")) ||
      failed(checkEqual(node, kinds[0], from[0],
                        "%0 batches of scores, %1 of boxes")) ||
      failed(checkEqual(node, kinds[2], from[1], "%0 scores for %1 boxes")))
    return failure();
  Suppression suppression = {node,
                             boxes,
                             scores,
                             node.getFlag("center_point_box"),
                             s.constant(e.b.getF32Type(), 0),
                             Value(),
                             e.size(0)};
  if (node.has(2)) {
    auto most = node.ints(2);
    if (!most || most->size() != 1)
      return node.fail("expected one number of boxes for each class");
    suppression.most = e.max(e.min(most->front(), from[1]), e.size(0));
  }
  for (auto [operand, threshold] :
       {std::pair(3u, &suppression.iouThreshold),
        std::pair(4u, &suppression.scoreThreshold)}) {
    if (!node.has(operand))
      continue;
    FailureOr<Value> value = loadScalar(node, operand);
    if (failed(value))
      return failure();
    *threshold = *value;
  }
  Type wide = e.b.getI64Type();
  Sizes room = {e.product({from[0], kinds[1], suppression.most}), e.size(3)};
  Value start[] = {s.index(0), e.empty(room, wide)};
  auto results = e.loopNest({from[0], kinds[1]}, start,
                            [&](ValueRange at, ValueRange carried) {
                              return suppression.select(at[0], at[1], carried);
                            });
  e.noteSizes(results[1], room);
  node.set(takeFirst(e, {results[1], wide}, Size(results[0])));
  return success();
}

ArrayRef<LoweringRule> getSelectionLowerings() {
  static const LoweringRule rules[] = {
      {"Compress", compressRule},
      {"NonMaxSuppression", nonMaxSuppressionRule},
      {"NonZero", nonZeroRule},
      {"Unique", uniqueRule},
  };
  return rules;
}

} // namespace mp
