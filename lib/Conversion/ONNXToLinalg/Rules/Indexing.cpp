//===- Indexing.cpp - Elements at computed places -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Indices are checked before they are used. Gathers check them once in a
// separate loop: the loop that moves elements has no branch. Scatters may write
// a place twice: they run in the order of their indices.
//
//===----------------------------------------------------------------------===//

#include "../Movement.h"
#include "../PoolGradients.h"
#include "../Rules.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

/// The one index of a scalar operand.
static Size getScalarIndex(NodeLowering &node) {
  if (std::optional<Sizes> ints = node.ints(1))
    return ints->front();
  return Size(node.s.toIndex(node.e.loadAt(node.in(1))));
}

/// `index`, checked.
static FailureOr<Size> checkScalarIndex(NodeLowering &node, Size index,
                                        Size limit) {
  Emitter &e = node.e;
  auto position = Emitter::getConstant(index),
       size = Emitter::getConstant(limit);
  if (!position || !size)
    return Size(e.checkedIndex(e.index(index), limit));
  if (*position < -*size || *position >= *size) {
    (void)node.fail("index " + Twine(*position) + " is out of range for size " +
                    Twine(*size));
    return failure();
  }
  return e.size(*position < 0 ? *position + *size : *position);
}

static LogicalResult gatherRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue data = node.in(0), indices = node.in(1);
  auto axis = node.axis(data.getRank());
  if (failed(axis))
    return failure();
  Sizes from = e.sizes(data), shape = e.sizes(indices);
  Size limit = from[*axis];
  checkIndexable(e, limit, e.product(shape));
  if (shape.empty()) {
    Size index = getScalarIndex(node);
    // An element at a computed place is read by the loop that needs it.
    if (data.getRank() > 1 || Emitter::getConstant(index)) {
      FailureOr<Size> checked = checkScalarIndex(node, index, limit);
      if (failed(checked))
        return failure();
      node.set(takeAt(e, data, *axis, *checked));
      return success();
    }
  }
  Sizes to(from);
  to.erase(to.begin() + *axis);
  to.insert(to.begin() + *axis, shape.begin(), shape.end());
  SmallVector<AffineExpr> exprs;
  for (unsigned i = 0; i < shape.size(); ++i)
    exprs.push_back(e.b.getAffineDimExpr(*axis + i));
  AffineMap map = AffineMap::get(to.size(), 0, exprs, e.b.getContext());
  TensorValue places = normalizeIndices(e, indices, limit);
  node.set(generateFrom(
      e, to, data.element, places, map, [&](ValueRange target, Value place) {
        SmallVector<Value> source(target.take_front(*axis));
        source.push_back(node.s.toIndex(place));
        llvm::append_range(source, target.drop_front(*axis + shape.size()));
        return e.load(data, source);
      }));
  return success();
}

/// Sizes other than that of `axis` are not larger than the tensor's.
static LogicalResult checkWithin(NodeLowering &node, ArrayRef<Size> part,
                                 ArrayRef<Size> whole, int64_t axis) {
  Emitter &e = node.e;
  for (unsigned other = 0; other < part.size(); ++other) {
    if (int64_t(other) == axis || part[other] == whole[other])
      continue;
    auto x = Emitter::getConstant(part[other]),
         y = Emitter::getConstant(whole[other]);
    if (x && y && *x > *y)
      return node.fail("size " + Twine(*x) + " of axis " + Twine(other) +
                       " of the indices, the tensor has " + Twine(*y));
    if (!x || !y)
      e.check(node.s.compare(Scalars::LE, e.index(part[other]),
                             e.index(whole[other])),
              "size %0 of axis " + Twine(other) +
                  " of the indices, the tensor has %1",
              part[other], whole[other]);
  }
  return success();
}

static LogicalResult gatherElementsRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue data = node.in(0), indices = node.in(1);
  int64_t rank = data.getRank();
  auto axis = node.axis(rank);
  if (failed(axis))
    return failure();
  if (indices.getRank() != rank)
    return node.fail("indices have " + Twine(indices.getRank()) +
                     " axes, expected " + Twine(rank));
  Sizes from = e.sizes(data), to = e.sizes(indices);
  if (failed(checkWithin(node, to, from, *axis)))
    return failure();
  Size limit = from[*axis];
  checkIndexable(e, limit, e.product(to));
  node.set(generateFrom(
      e, to, data.element, indices, e.b.getMultiDimIdentityMap(rank),
      [&](ValueRange target, Value index) {
        SmallVector<Value> source(target);
        source[*axis] = e.checkedIndex(node.s.toIndex(index), limit);
        return e.load(data, source);
      }));
  return success();
}

/// The number of axes that the last axis of `indices` indexes.
static FailureOr<int64_t> getIndexDepth(NodeLowering &node, TensorValue indices,
                                        int64_t most) {
  if (indices.getRank() == 0) {
    (void)node.fail("indices are a scalar");
    return failure();
  }
  auto depth = Emitter::getConstant(node.e.sizes(indices).back());
  if (!depth) {
    (void)node.fail("the last size of the indices is known at run time only");
    return failure();
  }
  if (*depth < 1 || *depth > most) {
    (void)node.fail("the last size of the indices is " + Twine(*depth) +
                    ", expected 1 to " + Twine(most));
    return failure();
  }
  return *depth;
}

/// The indexed axes are contiguous in memory: positions in them are computed
/// first.
static LogicalResult gatherNDRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue data = node.in(0), indices = node.in(1);
  int64_t batch = node.getInt("batch_dims");
  int64_t rank = data.getRank();
  if (batch < 0 || batch >= rank || batch >= indices.getRank())
    return node.fail("'batch_dims' is " + Twine(batch));
  auto depth = getIndexDepth(node, indices, rank - batch);
  if (failed(depth))
    return failure();
  Sizes from = e.sizes(data), shape = e.sizes(indices);
  shape.pop_back();
  for (int64_t axis = 0; axis < batch; ++axis)
    if (failed(checkEqual(node, shape[axis], from[axis],
                          "size %0 of axis " + Twine(axis) +
                              " of the indices, the tensor has %1")))
      return failure();
  ArrayRef<Size> indexed = ArrayRef<Size>(from).slice(batch, *depth);
  for (Size limit : indexed)
    checkIndexable(e, limit, e.product(shape));
  Type wide = e.b.getI64Type();
  TensorValue places = e.generate(shape, wide, [&](ValueRange target) {
    SmallVector<Value> source(target);
    source.push_back({});
    Value place = s.index(0);
    for (auto [position, limit] : llvm::enumerate(indexed)) {
      source.back() = s.index(position);
      Value index = e.checkedIndex(s.toIndex(e.load(indices, source)), limit);
      place = s.add(s.mul(place, e.index(limit)), index);
    }
    return s.fromIndex(place, wide);
  });
  ArrayRef<Size> inner = ArrayRef<Size>(from).drop_front(batch + *depth);
  Sizes flat(from.begin(), from.begin() + batch), to(shape);
  flat.push_back(e.product(indexed));
  llvm::append_range(flat, inner);
  llvm::append_range(to, inner);
  TensorValue rows = e.reshape(data, flat);
  AffineMap map =
      e.b.getMultiDimIdentityMap(to.size()).getMajorSubMap(shape.size());
  if (shape.empty())
    map = AffineMap::get(to.size(), 0, e.b.getContext());
  node.set(generateFrom(
      e, to, data.element, places, map, [&](ValueRange target, Value place) {
        SmallVector<Value> source(target.take_front(batch));
        source.push_back(s.toIndex(place));
        llvm::append_range(source, target.drop_front(shape.size()));
        return e.load(rows, source);
      }));
  return success();
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

using CombineFn = Value (*)(Scalars &, Value old, Value update, bool);

/// Returns how an element and its update are combined; absent for an unknown
/// name.
static std::optional<CombineFn> getCombination(StringRef reduction) {
  return llvm::StringSwitch<std::optional<CombineFn>>(reduction)
      .Case("none",
            CombineFn([](Scalars &, Value, Value y, bool) { return y; }))
      .Case("add", CombineFn([](Scalars &s, Value x, Value y, bool) {
              return s.add(x, y);
            }))
      .Case("mul", CombineFn([](Scalars &s, Value x, Value y, bool) {
              return s.mul(x, y);
            }))
      .Case("max", CombineFn([](Scalars &s, Value x, Value y, bool isUnsigned) {
              return s.max(x, y, isUnsigned);
            }))
      .Case("min", CombineFn([](Scalars &s, Value x, Value y, bool isUnsigned) {
              return s.min(x, y, isUnsigned);
            }))
      .Default(std::nullopt);
}

namespace {

/// The common state of scatters. Sums of 16-bit floats are formed in fp32 and
/// rounded once.
struct Scatter {
  TensorValue data, indices, updates;
  StringRef reduction;
  CombineFn combine;
  Type element;
};

} // namespace

static FailureOr<Scatter> getScatter(NodeLowering &node) {
  Scatter scatter;
  scatter.data = node.in(0);
  scatter.indices = node.in(1);
  scatter.updates = node.in(2);
  scatter.element = scatter.data.element;
  // Scatter, and ScatterElements before opset 16, have no reduction.
  scatter.reduction = node.getString("reduction", "none");
  auto combine = getCombination(scatter.reduction);
  if (!combine) {
    (void)node.fail("unknown reduction '" + scatter.reduction + "'");
    return failure();
  }
  scatter.combine = *combine;
  if (scatter.reduction == "add" || scatter.reduction == "mul")
    scatter.data =
        node.e.cast(scatter.data, isa<FloatType>(scatter.element)
                                      ? getComputeType(scatter.element)
                                      : scatter.element);
  return scatter;
}

static void setScattered(NodeLowering &node, const Scatter &scatter,
                         Value result) {
  Emitter &e = node.e;
  e.noteSizes(result, e.sizes(scatter.data));
  node.set(e.cast({result, scatter.data.element}, scatter.element));
}

/// Scatter and ScatterElements.
static LogicalResult scatterElementsRule(NodeLowering &node) {
  Emitter &e = node.e;
  if (TensorValue gathered = gatherGradients(node)) {
    node.set(gathered);
    return success();
  }
  FailureOr<Scatter> scatter = getScatter(node);
  if (failed(scatter))
    return failure();
  TensorValue data = scatter->data, indices = scatter->indices,
              updates = scatter->updates;
  int64_t rank = data.getRank();
  auto axis = node.axis(rank);
  if (failed(axis))
    return failure();
  if (indices.getRank() != rank || updates.getRank() != rank)
    return node.fail("indices and updates have " + Twine(indices.getRank()) +
                     " and " + Twine(updates.getRank()) + " axes, expected " +
                     Twine(rank));
  Sizes from = e.sizes(data), shape = e.sizes(indices),
        given = e.sizes(updates);
  for (int64_t other = 0; other < rank; ++other)
    if (failed(checkEqual(node, given[other], shape[other],
                          "size %0 of axis " + Twine(other) +
                              " of the updates, the indices have %1")))
      return failure();
  if (failed(checkWithin(node, shape, from, *axis)))
    return failure();
  checkIndexable(e, from[*axis], e.product(shape));
  bool isUnsigned = data.isUnsigned();
  Value result =
      e.loopNest(shape, data.value, [&](ValueRange at, ValueRange carried) {
        Value index = node.s.toIndex(e.load(indices, at));
        SmallVector<Value> target(at);
        target[*axis] = e.checkedIndex(index, from[*axis]);
        Value value = e.load(updates, at);
        if (scatter->reduction != "none") {
          Value old = e.load({carried[0], data.element}, target);
          value = scatter->combine(node.s, old, value, isUnsigned);
        }
        return SmallVector<Value>{
            e.store(carried[0], data.element, target, value)};
      })[0];
  setScattered(node, *scatter, result);
  return success();
}

/// The part of `tensor` at `indices` of its first axes: its other axes.
static TensorValue takeRow(Emitter &e, TensorValue tensor, ValueRange indices) {
  ArrayRef<int64_t> shape = tensor.getType().getShape();
  Sizes offsets(indices.begin(), indices.end());
  Sizes extents(indices.size(), e.size(1)), strides(shape.size(), e.size(1));
  Sizes from = e.sizes(tensor), kept;
  for (unsigned axis = indices.size(); axis < shape.size(); ++axis) {
    offsets.push_back(e.size(0));
    extents.push_back(from[axis]);
    kept.push_back(from[axis]);
  }
  Value row = tensor::ExtractSliceOp::create(
      e.b, e.loc, e.getTensorType(kept, tensor.element), tensor.value, offsets,
      extents, strides);
  e.noteSizes(row, kept);
  return {row, tensor.element};
}

/// Scatters row by row, where a row consists of the axes after the indexed
/// ones.
static LogicalResult scatterNDRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  FailureOr<Scatter> scatter = getScatter(node);
  if (failed(scatter))
    return failure();
  TensorValue data = scatter->data, updates = scatter->updates;
  auto depth = getIndexDepth(node, scatter->indices, data.getRank());
  if (failed(depth))
    return failure();
  Sizes from = e.sizes(data), rows = e.sizes(scatter->indices);
  rows.pop_back();
  Sizes expected(rows), given = e.sizes(updates);
  expected.append(from.begin() + *depth, from.end());
  if (given.size() != expected.size())
    return node.fail("updates have " + Twine(given.size()) +
                     " axes, expected " + Twine(expected.size()));
  for (unsigned axis = 0; axis < given.size(); ++axis)
    if (failed(checkEqual(node, given[axis], expected[axis],
                          "size %0 of axis " + Twine(axis) +
                              " of the updates, expected %1")))
      return failure();
  for (int64_t axis = 0; axis < *depth; ++axis)
    checkIndexable(e, from[axis], e.product(rows));
  bool isUnsigned = data.isUnsigned();
  Value result =
      e.loopNest(rows, data.value, [&](ValueRange at, ValueRange carried) {
        SmallVector<Value> source(at), target;
        source.push_back({});
        for (int64_t axis = 0; axis < *depth; ++axis) {
          source.back() = s.index(axis);
          Value index = s.toIndex(e.load(scatter->indices, source));
          target.push_back(e.checkedIndex(index, from[axis]));
        }
        TensorValue current = {carried[0], data.element};
        e.noteSizes(current.value, from);
        TensorValue row = takeRow(e, current, target);
        row.value = accumulate(
            e, takeRow(e, updates, at), row, [&](Value old, Value update) {
              return scatter->combine(s, old, update, isUnsigned);
            });
        Sizes offsets(target.begin(), target.end());
        offsets.resize(from.size(), e.size(0));
        return SmallVector<Value>{insertSlice(e, row, current.value, offsets)};
      })[0];
  setScattered(node, *scatter, result);
  return success();
}

//===----------------------------------------------------------------------===//
// TensorScatter
//===----------------------------------------------------------------------===//

/// Writes the update into a cache, after the positions that are filled.
static LogicalResult tensorScatterRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue cache = node.in(0), update = node.in(1);
  int64_t rank = cache.getRank();
  auto axis = node.axis(rank);
  if (failed(axis))
    return failure();
  if (*axis == 0 || update.getRank() != rank)
    return node.fail("expected an update with as many axes as the cache, and "
                     "another axis than 0");
  bool isCircular = node.getString("mode") == "circular";
  Sizes from = e.sizes(cache), given = e.sizes(update);
  for (int64_t other = 0; other < rank; ++other)
    if (other != *axis && failed(checkEqual(node, given[other], from[other],
                                            "size %0 of axis " + Twine(other) +
                                                " of the update, the cache "
                                                "has %1")))
      return failure();
  TensorValue starts = node.has(2) ? node.in(2) : TensorValue();
  if (starts && failed(checkEqual(node, e.dim(starts, 0), from[0],
                                  "found %0 write indices, expected %1")))
    return failure();
  Size limit = from[*axis];
  checkIndexable(e, limit, given[*axis]);
  // One position of one batch is a slice.
  Sizes strides(rank, e.size(1)), extents(given);
  extents[0] = extents[*axis] = e.size(1);
  Value result = e.loopNest(
      {from[0], given[*axis]}, cache.value,
      [&](ValueRange at, ValueRange carried) {
        Value start = starts ? s.toIndex(e.load(starts, at[0])) : s.index(0);
        Value place = s.add(start, at[1]);
        // The remainder of a negative start is negative: an error below.
        if (isCircular)
          place = e.index(e.rem(Size(place), limit));
        Value isGood =
            s.compare(Scalars::LT, place, e.index(limit), /*isUnsigned=*/true);
        place = e.checked(isGood, "index %0 is out of range for size %1", place,
                          limit, s.index(0));
        Sizes offsets(rank, e.size(0));
        offsets[0] = at[0];
        offsets[*axis] = at[1];
        TensorValue part = e.slice(update, offsets, extents, strides);
        offsets[*axis] = place;
        return SmallVector<Value>{insertSlice(e, part, carried[0], offsets)};
      })[0];
  e.noteSizes(result, from);
  node.set({result, cache.element});
  return success();
}

ArrayRef<LoweringRule> getIndexingLowerings() {
  static const LoweringRule rules[] = {
      {"Gather", gatherRule},
      {"GatherElements", gatherElementsRule},
      {"GatherND", gatherNDRule},
      {"Scatter", scatterElementsRule},
      {"ScatterElements", scatterElementsRule},
      {"ScatterND", scatterNDRule},
      {"TensorScatter", tensorScatterRule},
  };
  return rules;
}

} // namespace mp
