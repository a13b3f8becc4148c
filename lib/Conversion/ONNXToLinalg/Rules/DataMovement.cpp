//===- DataMovement.cpp - Elements in other places ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parts are slices of tensors, wholes are made by inserting slices: these
// become views of memory.
//
//===----------------------------------------------------------------------===//

#include "../Movement.h"
#include "../Rules.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Concat, Split
//===----------------------------------------------------------------------===//

static LogicalResult concatRule(NodeLowering &node) {
  SmallVector<TensorValue> operands = node.operands();
  if (operands.empty() ||
      !llvm::all_of(operands, [](TensorValue x) { return bool(x); }))
    return node.fail("an operand is absent");
  // Concat-1 states its default in prose only; later versions have no default.
  auto axis = node.normalizeAxis(node.getInt("axis", 1), operands[0].getRank());
  if (failed(axis))
    return failure();
  FailureOr<TensorValue> result = concatenate(node, operands, *axis);
  if (failed(result))
    return failure();
  node.set(*result);
  return success();
}

/// The sizes of equal parts; from version 18 on, the last one may be smaller.
static FailureOr<Sizes> getEqualParts(NodeLowering &node, Size extent) {
  Emitter &e = node.e;
  int64_t count = node.getNode()->getNumResults();
  if (node.getVersion() < 18) {
    Size part = e.floorDiv(extent, e.size(count));
    if (failed(checkEqual(node, e.mul(part, e.size(count)), extent,
                          "size %1 is not divisible by the number of parts")))
      return failure();
    return Sizes(count, part);
  }
  Size part = e.ceilDiv(extent, e.size(count)), rest = extent;
  Sizes parts;
  for (int64_t index = 0; index < count; ++index) {
    parts.push_back(e.min(part, rest));
    rest = e.sub(rest, parts.back());
  }
  return parts;
}

/// The list of sizes: it is as long as the node has results, also where that
/// is more than the shape of a tensor can have.
static std::optional<Sizes> getListedParts(NodeLowering &node) {
  Emitter &e = node.e;
  if (std::optional<Sizes> few = node.ints(1))
    return few;
  int64_t count = node.getNode()->getNumResults();
  Sizes parts;
  if (std::optional<SmallVector<int64_t>> given = node.constantInts(1)) {
    for (int64_t part : *given)
      parts.push_back(e.size(part));
    return parts;
  }
  TensorValue list = node.in(1);
  if (!list || !isa<IntegerType>(list.element) || list.getRank() != 1 ||
      !Emitter::isConstant(e.dim(list, 0), count))
    return std::nullopt;
  for (int64_t index = 0; index < count; ++index)
    parts.push_back(node.s.toIndex(e.loadAt(list, index)));
  return parts;
}

static FailureOr<Sizes> getParts(NodeLowering &node, Size extent) {
  Emitter &e = node.e;
  std::optional<Sizes> parts;
  SmallVector<int64_t> given = node.getInts("split");
  if (!given.empty()) {
    parts.emplace();
    for (int64_t part : given)
      parts->push_back(e.size(part));
  } else if (!node.has(1)) {
    return getEqualParts(node, extent);
  } else {
    parts = getListedParts(node);
  }
  if (!parts || parts->size() != node.getNode()->getNumResults()) {
    (void)node.fail("expected the sizes of " +
                    Twine(node.getNode()->getNumResults()) + " parts");
    return failure();
  }
  if (failed(checkParts(node, *parts, extent)))
    return failure();
  return *parts;
}

static LogicalResult splitRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue data = node.in(0);
  auto axis = node.axis(data.getRank());
  if (failed(axis))
    return failure();
  Sizes sizes = e.sizes(data);
  FailureOr<Sizes> lengths = getParts(node, sizes[*axis]);
  if (failed(lengths))
    return failure();
  for (auto [index, part] :
       llvm::enumerate(takeParts(e, data, sizes, *axis, *lengths)))
    node.set(index, part);
  return success();
}

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

namespace {

/// Element i of a slice along one axis is that at offset + i * stride.
struct AxisSlice {
  Size offset, extent, stride;
};

} // namespace

/// Clamps `x` to [low, high]; high wins if they cross.
static Size clamp(Emitter &e, Size x, Size low, Size high) {
  // Sizes are not negative.
  if (x == low || Emitter::isConstant(x, 0))
    return Emitter::isConstant(high, -1) ? high : e.max(x, low);
  return e.min(e.max(x, low), high);
}

/// Negative positions count from the end.
static Size wrap(Emitter &e, Size x, Size extent) {
  if (auto constant = Emitter::getConstant(x))
    return *constant < 0 ? e.add(x, extent) : x;
  Value isNegative = e.s.compare(Scalars::LT, e.index(x), e.s.index(0));
  return e.select(isNegative, e.add(x, extent), x);
}

/// Steps of this size leave one element; more would overflow.
static constexpr int64_t maxStep = int64_t(1) << 62;

static AxisSlice sliceAxis(Emitter &e, Size start, Size end, Size step,
                           Size extent) {
  Scalars &s = e.s;
  Size zero = e.size(0), last = e.sub(extent, e.size(1));
  start = wrap(e, start, extent);
  end = wrap(e, end, extent);
  if (auto constant = Emitter::getConstant(step); constant && *constant > 0) {
    Size begin = clamp(e, start, zero, extent);
    Size length = e.sub(clamp(e, end, zero, extent), begin);
    if (!Emitter::isConstant(begin, 0))
      length = e.max(length, zero);
    step = e.size(std::min(*constant, maxStep));
    return {begin, e.ceilDiv(length, step), step};
  }
  Size low = e.size(-maxStep), high = e.size(maxStep);
  step = e.max(e.min(step, high), low);
  bool isBackward = Emitter::getConstant(step).value_or(0) < 0;
  Value isForward = s.compare(Scalars::GT, e.index(step), s.index(0));
  auto choose = [&](Size forward, Size backward) {
    return isBackward ? backward : e.select(isForward, forward, backward);
  };
  Size top = choose(extent, last);
  Size begin = e.min(e.max(start, zero), top);
  Size stop = e.min(e.max(end, choose(zero, e.size(-1))), top);
  Size length = choose(e.sub(stop, begin), e.sub(begin, stop));
  Size width = choose(step, e.sub(zero, step));
  // Steps of zero were reported as errors before.
  width = e.max(width, e.size(1));
  return {begin, e.ceilDiv(e.max(length, zero), width), step};
}

/// An operand or attribute of Slice with one entry for each sliced axis.
static std::optional<Sizes> getBounds(NodeLowering &node, StringRef attribute,
                                      unsigned operand) {
  if (node.getVersion() >= 10)
    return node.ints(operand);
  Sizes result;
  for (int64_t value : node.getInts(attribute))
    result.push_back(node.e.size(value));
  return result;
}

static LogicalResult sliceRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue data = node.in(0);
  auto starts = getBounds(node, "starts", 1), ends = getBounds(node, "ends", 2);
  if (!starts || !ends)
    return node.fail("the number of sliced axes is known at run time only");
  auto axes = getAxisList(node, "axes", 3, starts->size(), data.getRank());
  if (failed(axes))
    return failure();
  Sizes steps(starts->size(), e.size(1));
  if (node.has(4)) {
    std::optional<Sizes> given = node.ints(4);
    if (!given)
      return node.fail("the number of steps is known at run time only");
    steps = *given;
  }
  if (ends->size() != starts->size() || steps.size() != starts->size())
    return node.fail("starts, ends and steps are not of one length");
  for (Size step : steps) {
    if (Emitter::isConstant(step, 0))
      return node.fail("a step is 0");
    if (!Emitter::getConstant(step))
      e.check(node.s.compare(Scalars::NE, e.index(step), node.s.index(0)),
              "a step is %0", step, step);
  }
  Sizes extents = e.sizes(data);
  Sizes zeros(extents.size(), e.size(0)), ones(extents.size(), e.size(1));
  Sizes begins = spreadOverAxes(e, *axes, *starts, zeros);
  Sizes stops = spreadOverAxes(e, *axes, *ends, extents);
  Sizes strides = spreadOverAxes(e, *axes, steps, ones);
  bool changes = false;
  for (auto [axis, extent] : llvm::enumerate(extents)) {
    if (Emitter::isConstant(begins[axis], 0) && stops[axis] == extent &&
        Emitter::isConstant(strides[axis], 1))
      continue;
    AxisSlice slice =
        sliceAxis(e, begins[axis], stops[axis], strides[axis], extent);
    begins[axis] = slice.offset;
    strides[axis] = slice.stride;
    changes |= slice.extent != extent || !Emitter::isConstant(slice.stride, 1);
    extent = slice.extent;
  }
  node.set(changes ? e.slice(data, begins, extents, strides) : data);
  return success();
}

//===----------------------------------------------------------------------===//
// Tile, DepthToSpace, SpaceToDepth
//===----------------------------------------------------------------------===//

/// The number of repetitions of each axis.
static FailureOr<Sizes> getRepeats(NodeLowering &node, int64_t rank) {
  Emitter &e = node.e;
  std::optional<Sizes> repeats = node.ints(1);
  if (repeats && node.getVersion() < 6) {
    // The version with one number of repetitions, and the axis.
    auto axis = node.constantInts(2);
    if (!axis || axis->size() != 1 || repeats->size() != 1) {
      (void)node.fail("expected a number of tiles and a constant axis");
      return failure();
    }
    FailureOr<int64_t> normal = node.normalizeAxis(axis->front(), rank);
    if (failed(normal))
      return failure();
    Sizes result(rank, e.size(1));
    result[*normal] = repeats->front();
    repeats = result;
  }
  if (!repeats || int64_t(repeats->size()) != rank) {
    (void)node.fail("expected one repeat for each of " + Twine(rank) + " axes");
    return failure();
  }
  // More would leave the range of sizes.
  constexpr int64_t most = int64_t(1) << 31;
  for (Size count : *repeats) {
    int64_t known = Emitter::getConstant(count).value_or(0);
    if (known < 0 || known > most) {
      (void)node.fail("found " + Twine(known) + " repeats");
      return failure();
    }
    if (!Emitter::getConstant(count))
      e.check(node.s.compare(Scalars::LE, e.index(count), node.s.index(most),
                             /*isUnsigned=*/true),
              "found %0 repeats, expected at most %1", count, e.size(most));
  }
  return *repeats;
}

/// Repeated axes become two: [repeats, size] are one axis in memory.
static LogicalResult tileRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue data = node.in(0);
  FailureOr<Sizes> repeats = getRepeats(node, data.getRank());
  if (failed(repeats))
    return failure();
  Sizes from = e.sizes(data), spread, inner, to;
  for (auto [axis, extent] : llvm::enumerate(from)) {
    Size count = (*repeats)[axis];
    to.push_back(e.mul(extent, count));
    if (!Emitter::isConstant(count, 1)) {
      spread.push_back(count);
      inner.push_back(e.size(1));
    }
    spread.push_back(extent);
    inner.push_back(extent);
  }
  TensorValue wide = e.broadcastTo(e.reshape(data, inner), spread);
  node.set(e.reshape(wide, to));
  return success();
}

/// The four sizes of an image, and the block's.
static FailureOr<int64_t> getBlockSize(NodeLowering &node) {
  int64_t block = node.getInt("blocksize");
  if (node.in(0).getRank() != 4 || block <= 0 || block > (1 << 20)) {
    (void)node.fail("expected four axes and a positive block size, got " +
                    Twine(node.in(0).getRank()) + " axes and " + Twine(block));
    return failure();
  }
  return block;
}

static LogicalResult depthToSpaceRule(NodeLowering &node) {
  Emitter &e = node.e;
  FailureOr<int64_t> blockSize = getBlockSize(node);
  if (failed(blockSize))
    return failure();
  TensorValue data = node.in(0);
  Sizes x = e.sizes(data);
  Size block = e.size(*blockSize);
  Size depth = e.floorDiv(x[1], e.mul(block, block));
  if (failed(checkEqual(node, e.product({depth, block, block}), x[1],
                        "%1 channels cannot be divided into blocks")))
    return failure();
  bool byColumn = node.getString("mode") == "CRD";
  Sizes parts = byColumn ? Sizes{x[0], depth, block, block, x[2], x[3]}
                         : Sizes{x[0], block, block, depth, x[2], x[3]};
  SmallVector<int64_t> order = {0, 3, 4, 1, 5, 2};
  if (byColumn)
    order = {0, 1, 4, 2, 5, 3};
  TensorValue turned = e.transpose(e.reshape(data, parts), order);
  node.set(
      e.reshape(turned, {x[0], depth, e.mul(x[2], block), e.mul(x[3], block)}));
  return success();
}

static LogicalResult spaceToDepthRule(NodeLowering &node) {
  Emitter &e = node.e;
  FailureOr<int64_t> blockSize = getBlockSize(node);
  if (failed(blockSize))
    return failure();
  TensorValue data = node.in(0);
  Sizes x = e.sizes(data);
  Size block = e.size(*blockSize);
  Size rows = e.floorDiv(x[2], block), columns = e.floorDiv(x[3], block);
  for (auto [part, whole] : {std::pair(rows, x[2]), std::pair(columns, x[3])})
    if (failed(checkEqual(node, e.mul(part, block), whole,
                          "size %1 cannot be divided into blocks")))
      return failure();
  TensorValue parts =
      e.reshape(data, {x[0], x[1], rows, block, columns, block});
  SmallVector<int64_t> order = {0, 3, 5, 1, 2, 4};
  if (node.getString("mode") == "CRD")
    order = {0, 1, 3, 5, 2, 4};
  TensorValue turned = e.transpose(parts, order);
  node.set(e.reshape(turned,
                     {x[0], e.product({x[1], block, block}), rows, columns}));
  return success();
}

//===----------------------------------------------------------------------===//
// ReverseSequence, Trilu
//===----------------------------------------------------------------------===//

static LogicalResult reverseSequenceRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue data = node.in(0), lengths = node.in(1);
  int64_t batch = node.getInt("batch_axis");
  int64_t time = node.getInt("time_axis");
  if (batch == time || batch < 0 || batch > 1 || time < 0 || time > 1 ||
      data.getRank() < 2 || lengths.getRank() != 1)
    return node.fail("expected two axes, 0 and 1, and a vector of lengths");
  Sizes extents = e.sizes(data);
  if (failed(checkEqual(node, e.dim(lengths, 0), extents[batch],
                        "found %0 lengths, expected %1")))
    return failure();
  Value limit = e.index(extents[time]);
  node.set(e.generate(extents, data.element, [&](ValueRange indices) {
    Value length = s.toIndex(e.load(lengths, indices[batch]));
    Value fits = s.compare(Scalars::LE, length, limit, /*isUnsigned=*/true);
    length = e.checked(fits, "length %0 is out of range for size %1", length,
                       extents[time], s.index(0));
    Value t = indices[time];
    Value turned = s.sub(s.sub(length, s.index(1)), t);
    SmallVector<Value> source(indices);
    source[time] = s.select(s.compare(Scalars::LT, t, length), turned, t);
    return e.load(data, source);
  }));
  return success();
}

static LogicalResult triluRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue data = node.in(0);
  int64_t rank = data.getRank();
  if (rank < 2)
    return node.fail("expected at least two axes, got " + Twine(rank));
  bool isUpper = node.getFlag("upper");
  Value diagonal = s.index(0);
  if (node.has(1)) {
    std::optional<Sizes> k = node.ints(1);
    if (!k || k->size() != 1)
      return node.fail("expected one number of a diagonal");
    // Farther than any tensor reaches, but small enough that no sum overflows.
    Size bound = e.size(maxStep);
    diagonal = e.index(e.max(e.min(k->front(), bound), e.size(-maxStep)));
  }
  node.set(e.map(data.element, data, [&](ValueRange values) {
    Value row = linalg::IndexOp::create(e.b, e.loc, rank - 2);
    Value column = linalg::IndexOp::create(e.b, e.loc, rank - 1);
    Value edge = s.add(row, diagonal);
    Value kept = s.compare(isUpper ? Scalars::GE : Scalars::LE, column, edge);
    return s.select(kept, values[0], s.like(values[0], 0));
  }));
  return success();
}

ArrayRef<LoweringRule> getDataMovementLowerings() {
  static const LoweringRule rules[] = {
      {"Concat", concatRule},
      {"DepthToSpace", depthToSpaceRule},
      {"ReverseSequence", reverseSequenceRule},
      {"Slice", sliceRule},
      {"SpaceToDepth", spaceToDepthRule},
      {"Split", splitRule},
      {"Tile", tileRule},
      {"Trilu", triluRule},
  };
  return rules;
}

} // namespace mp
