//===- ShapeMovement.cpp - Known integers that change their places --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Folds that move integers of any rank: torch's exporters reverse pads by a
// Reshape to pairs, a Slice with a step of -1 and a Transpose.
//
//===----------------------------------------------------------------------===//

#include "ShapeFolding.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

std::optional<int64_t> countKnown(ArrayRef<int64_t> shape) {
  // With a size of 0, the others may have any value.
  if (llvm::any_of(shape, [](int64_t extent) { return extent < 0; }))
    return std::nullopt;
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent > maxShapeElements)
      return std::nullopt;
    count *= extent;
    if (count > maxShapeElements)
      return std::nullopt;
  }
  return count;
}

std::optional<SmallVector<int64_t>>
getKnownAxes(NodeLowering &node, unsigned operand, int64_t rank) {
  SmallVector<int64_t> axes = node.getInts("axes");
  if (node.has(operand)) {
    auto given = node.constantInts(operand);
    if (!given)
      return std::nullopt;
    axes = *given;
  }
  for (int64_t &axis : axes) {
    std::optional<int64_t> wrapped = normalizeAxis(axis, rank);
    if (!wrapped)
      return std::nullopt;
    axis = *wrapped;
  }
  llvm::sort(axes);
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return std::nullopt;
  return axes;
}

bool forEachIndex(ArrayRef<int64_t> shape,
                  llvm::function_ref<bool(ArrayRef<int64_t>)> fn) {
  std::optional<int64_t> count = countKnown(shape);
  if (!count)
    return false;
  SmallVector<int64_t> indices(shape.size(), 0);
  for (int64_t position = 0; position < *count; ++position) {
    if (!fn(indices))
      return false;
    for (int64_t axis = int64_t(shape.size()) - 1; axis >= 0; --axis) {
      if (++indices[axis] < shape[axis])
        break;
      indices[axis] = 0;
    }
  }
  return true;
}

int64_t getPlace(ArrayRef<int64_t> indices, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> own = indices.take_back(shape.size());
  int64_t place = 0;
  for (auto [index, extent] : llvm::zip(own, shape))
    place = place * extent + (extent == 1 ? 0 : index);
  return place;
}

std::optional<SmallVector<int64_t>>
broadcastKnown(ArrayRef<const ShapeValue *> operands) {
  SmallVector<int64_t> shape;
  for (const ShapeValue *operand : operands) {
    if (!operand)
      return std::nullopt;
    ArrayRef<int64_t> other(operand->shape);
    if (other.size() > shape.size())
      shape.insert(shape.begin(), other.size() - shape.size(), 1);
    MutableArrayRef<int64_t> same(shape);
    for (auto [mine, extent] : llvm::zip(same.take_back(other.size()), other)) {
      if (mine != extent && mine != 1 && extent != 1)
        return std::nullopt;
      mine = mine == 1 ? extent : mine;
    }
  }
  return shape;
}

/// The elements of `data` at the positions that `getSource` returns; absent if
/// a position is outside of `data`.
static Ints
takePlaces(const ShapeValue &data, ArrayRef<int64_t> shape,
           llvm::function_ref<int64_t(ArrayRef<int64_t>)> getSource) {
  ShapeValue result{{}, SmallVector<int64_t>(shape)};
  bool isWhole = forEachIndex(shape, [&](ArrayRef<int64_t> indices) {
    int64_t place = getSource(indices);
    if (place < 0 || place >= int64_t(data.values.size()))
      return false;
    result.values.push_back(data.values[place]);
    return true;
  });
  return isWhole ? Ints(std::move(result)) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Reshape, Squeeze, Unsqueeze, Flatten
//===----------------------------------------------------------------------===//

static Ints withShape(const ShapeValue &data, SmallVector<int64_t> shape) {
  if (countKnown(shape) != int64_t(data.values.size()))
    return std::nullopt;
  return ShapeValue{data.values, std::move(shape)};
}

/// The shape of a Reshape whose sizes are not constants, as it is declared.
static Ints reshapeAsDeclared(NodeLowering &node, const ShapeValue &data) {
  auto declared =
      dyn_cast<RankedTensorType>(node.getNode()->getResult(0).getType());
  if (!declared || (!declared.hasStaticShape() && declared.getRank() != 1))
    return std::nullopt;
  if (!declared.hasStaticShape())
    return withShape(data, {int64_t(data.values.size())});
  return withShape(data, llvm::to_vector(declared.getShape()));
}

static Ints foldReshape(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  if (!data)
    return std::nullopt;
  std::optional<SmallVector<int64_t>> shape =
      node.has(1) ? node.constantInts(1) : node.getInts("shape");
  if (!shape)
    return reshapeAsDeclared(node, *data);
  bool keepsZeros = node.getFlag("allowzero");
  int64_t rest = -1, others = 1;
  for (auto [axis, extent] : llvm::enumerate(*shape)) {
    if (extent == 0 && !keepsZeros) {
      if (axis >= data->shape.size())
        return std::nullopt;
      extent = data->shape[axis];
    }
    if (extent == -1 && rest < 0)
      rest = axis;
    else if (extent < 0 || extent > maxShapeElements)
      return std::nullopt;
    else
      others *= std::min(extent, maxShapeElements);
    if (others > maxShapeElements)
      return std::nullopt;
  }
  if (rest >= 0)
    (*shape)[rest] = others ? int64_t(data->values.size()) / others : 0;
  return withShape(*data, *shape);
}

static Ints foldSqueeze(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  if (!data)
    return std::nullopt;
  auto axes = getKnownAxes(node, 1, data->shape.size());
  if (!axes)
    return std::nullopt;
  bool dropsAll = !node.has(1) && !node.states("axes");
  SmallVector<int64_t> shape;
  for (auto [axis, extent] : llvm::enumerate(data->shape))
    if (dropsAll ? extent != 1 : !llvm::is_contained(*axes, int64_t(axis)))
      shape.push_back(extent);
  return withShape(*data, shape);
}

static Ints foldUnsqueeze(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  if (!data)
    return std::nullopt;
  size_t added = node.getInts("axes").size();
  if (node.has(1)) {
    auto given = node.constantInts(1);
    added = given ? given->size() : 0;
  }
  auto axes = getKnownAxes(node, 1, data->shape.size() + added);
  if (!axes)
    return std::nullopt;
  SmallVector<int64_t> shape(data->shape);
  for (int64_t axis : *axes)
    shape.insert(shape.begin() + axis, 1);
  return withShape(*data, shape);
}

static Ints foldFlatten(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  if (!data)
    return std::nullopt;
  int64_t rank = data->shape.size();
  int64_t axis = node.axis();
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis > rank)
    return std::nullopt;
  auto front = countKnown(ArrayRef(data->shape).take_front(axis));
  auto back = countKnown(ArrayRef(data->shape).drop_front(axis));
  return front && back ? withShape(*data, {*front, *back}) : std::nullopt;
}

static Ints foldIdentity(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  return data ? Ints(*data) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Transpose, Expand, Tile, Gather, Concat
//===----------------------------------------------------------------------===//

static Ints foldTranspose(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  if (!data)
    return std::nullopt;
  int64_t rank = data->shape.size();
  SmallVector<int64_t> order = node.permutation(rank);
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    return std::nullopt;
  SmallVector<int64_t> shape;
  for (int64_t axis : order)
    shape.push_back(data->shape[axis]);
  return takePlaces(*data, shape, [&](ArrayRef<int64_t> indices) {
    SmallVector<int64_t> source(rank);
    for (auto [index, axis] : llvm::zip(indices, order))
      source[axis] = index;
    return getPlace(source, data->shape);
  });
}

static Ints foldExpand(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  auto wanted = node.constantInts(1);
  if (!data || !wanted)
    return std::nullopt;
  ShapeValue target{{}, *wanted};
  auto shape = broadcastKnown({data, &target});
  if (!shape)
    return std::nullopt;
  return takePlaces(*data, *shape, [&](ArrayRef<int64_t> indices) {
    return getPlace(indices, data->shape);
  });
}

static Ints foldTile(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  auto repeats = node.constantInts(1);
  if (!data || node.getVersion() < 6 || !repeats ||
      repeats->size() != data->shape.size())
    return std::nullopt;
  SmallVector<int64_t> shape(data->shape);
  for (auto [extent, times] : llvm::zip(shape, *repeats)) {
    if (times < 0 || times > maxShapeElements || extent > maxShapeElements)
      return std::nullopt;
    extent *= times;
  }
  return takePlaces(*data, shape, [&](ArrayRef<int64_t> indices) {
    SmallVector<int64_t> source(indices);
    for (auto [index, extent] : llvm::zip(source, data->shape))
      index %= extent;
    return getPlace(source, data->shape);
  });
}

static Ints foldGather(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0), *indices = node.getKnown(1);
  if (!data || !indices)
    return std::nullopt;
  auto axis = node.axisIn(data->shape.size());
  auto positions = node.constantInts(1);
  if (!axis || !positions)
    return std::nullopt;
  int64_t extent = data->shape[*axis], added = indices->shape.size();
  for (int64_t &position : *positions) {
    auto wrapped = normalizeAxis(position, extent);
    if (!wrapped)
      return std::nullopt;
    position = *wrapped;
  }
  SmallVector<int64_t> shape(data->shape);
  shape.erase(shape.begin() + *axis);
  shape.insert(shape.begin() + *axis, indices->shape.begin(),
               indices->shape.end());
  return takePlaces(*data, shape, [&](ArrayRef<int64_t> at) {
    SmallVector<int64_t> source(at.take_front(*axis));
    source.push_back(
        (*positions)[getPlace(at.slice(*axis, added), indices->shape)]);
    llvm::append_range(source, at.drop_front(*axis + added));
    return getPlace(source, data->shape);
  });
}

static Ints foldConcat(NodeLowering &node) {
  SmallVector<const ShapeValue *> parts;
  for (unsigned index = 0; index < node.getNumOperands(); ++index) {
    parts.push_back(node.getKnown(index));
    if (!parts.back() ||
        parts.back()->shape.size() != parts.front()->shape.size())
      return std::nullopt;
  }
  if (parts.empty())
    return std::nullopt;
  SmallVector<int64_t> shape(parts.front()->shape);
  auto axis = node.axisIn(shape.size());
  if (!axis)
    return std::nullopt;
  shape[*axis] = 0;
  // The concatenated elements of all parts, and where each part begins.
  ShapeValue all;
  SmallVector<int64_t> begins, firsts;
  for (const ShapeValue *part : parts) {
    for (auto [other, extent] : llvm::enumerate(part->shape))
      if (int64_t(other) != *axis && extent != shape[other])
        return std::nullopt;
    begins.push_back(shape[*axis]);
    firsts.push_back(all.values.size());
    shape[*axis] += part->shape[*axis];
    llvm::append_range(all.values, part->values);
  }
  return takePlaces(all, shape, [&](ArrayRef<int64_t> indices) {
    SmallVector<int64_t> source(indices);
    unsigned part = parts.size() - 1;
    while (source[*axis] < begins[part])
      --part;
    source[*axis] -= begins[part];
    return firsts[part] + getPlace(source, parts[part]->shape);
  });
}

//===----------------------------------------------------------------------===//
// Slice and Split
//===----------------------------------------------------------------------===//

namespace {

/// The range that Slice takes of an axis.
struct KnownRange {
  int64_t start = 0, step = 1, count = 0;
};

} // namespace

static KnownRange cutRange(int64_t start, int64_t end, int64_t step,
                           int64_t extent) {
  if (!extent)
    return {0, step, 0};
  auto clamp = [&](int64_t position, int64_t low, int64_t high) {
    return std::clamp(position < 0 ? position + extent : position, low, high);
  };
  bool isForward = step > 0;
  KnownRange range{clamp(start, 0, isForward ? extent : extent - 1), step, 0};
  end = clamp(end, isForward ? 0 : -1, isForward ? extent : extent - 1);
  for (int64_t i = range.start; isForward ? i < end : i > end; i += step) {
    ++range.count;
    // The next one may leave the range of integers.
    if (step > extent || step < -extent)
      break;
  }
  return range;
}

/// An attribute of old opsets, or operand, with one integer for each of
/// `count` axes.
static std::optional<SmallVector<int64_t>>
getSliceList(NodeLowering &node, StringRef name, unsigned operand) {
  if (node.getVersion() >= 10)
    return node.constantInts(operand);
  return node.getInts(name);
}

static Ints foldSlice(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  auto starts = getSliceList(node, "starts", 1);
  auto ends = getSliceList(node, "ends", 2);
  if (!data || !starts || !ends || starts->size() != ends->size())
    return std::nullopt;
  int64_t rank = data->shape.size();
  bool hasAxes = node.has(3) || node.states("axes");
  SmallVector<int64_t> axes, steps(starts->size(), 1);
  if (hasAxes) {
    auto given = getSliceList(node, "axes", 3);
    if (!given)
      return std::nullopt;
    axes = *given;
  } else {
    axes = llvm::to_vector(llvm::seq<int64_t>(0, starts->size()));
  }
  if (node.has(4)) {
    auto given = node.constantInts(4);
    if (!given)
      return std::nullopt;
    steps = *given;
  }
  if (axes.size() != starts->size() || steps.size() != starts->size())
    return std::nullopt;
  SmallVector<KnownRange> ranges;
  for (int64_t extent : data->shape)
    ranges.push_back({0, 1, extent});
  for (auto [axis, start, end, step] : llvm::zip(axes, *starts, *ends, steps)) {
    auto wrapped = normalizeAxis(axis, rank);
    if (!wrapped || step == 0)
      return std::nullopt;
    ranges[*wrapped] = cutRange(start, end, step, data->shape[*wrapped]);
  }
  SmallVector<int64_t> shape;
  for (const KnownRange &range : ranges)
    shape.push_back(range.count);
  return takePlaces(*data, shape, [&](ArrayRef<int64_t> indices) {
    SmallVector<int64_t> source;
    for (auto [index, range] : llvm::zip(indices, ranges))
      source.push_back(range.start + index * range.step);
    return getPlace(source, data->shape);
  });
}

/// The lengths of the parts; absent where they are not known or do not fit.
static std::optional<SmallVector<int64_t>> getParts(NodeLowering &node,
                                                    int64_t extent) {
  int64_t count = node.getNode()->getNumResults();
  SmallVector<int64_t> parts = node.getInts("split");
  if (node.has(1)) {
    auto given = node.constantInts(1);
    if (!given)
      return std::nullopt;
    parts = *given;
  }
  if (parts.empty()) {
    int64_t most = llvm::divideCeil(extent, count);
    for (int64_t part = 0; part < count; ++part)
      parts.push_back(std::clamp<int64_t>(extent - part * most, 0, most));
  }
  int64_t total = 0;
  for (int64_t part : parts) {
    if (part < 0 || part > extent)
      return std::nullopt;
    total += part;
  }
  if (total != extent || int64_t(parts.size()) != count)
    return std::nullopt;
  return parts;
}

bool foldKnownSplit(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  if (!data)
    return false;
  auto axis = node.axisIn(data->shape.size());
  auto parts = axis ? getParts(node, data->shape[*axis]) : std::nullopt;
  if (!parts)
    return false;
  // The results are set once all are known.
  SmallVector<ShapeValue> results;
  int64_t begin = 0;
  for (int64_t part : *parts) {
    SmallVector<int64_t> shape(data->shape);
    shape[*axis] = part;
    Ints result = takePlaces(*data, shape, [&](ArrayRef<int64_t> indices) {
      SmallVector<int64_t> source(indices);
      source[*axis] += begin;
      return getPlace(source, data->shape);
    });
    if (!result)
      return false;
    results.push_back(std::move(*result));
    begin += part;
  }
  for (auto [index, result] : llvm::enumerate(results))
    node.setKnown(index, std::move(result));
  return true;
}

FoldFn findShapeMovement(StringRef op) {
  return llvm::StringSwitch<FoldFn>(op)
      .Case("Concat", foldConcat)
      .Case("Expand", foldExpand)
      .Case("Flatten", foldFlatten)
      .Case("Gather", foldGather)
      .Case("Identity", foldIdentity)
      .Case("Reshape", foldReshape)
      .Case("Slice", foldSlice)
      .Case("Squeeze", foldSqueeze)
      .Case("Tile", foldTile)
      .Case("Transpose", foldTranspose)
      .Case("Unsqueeze", foldUnsqueeze)
      .Default(nullptr);
}

} // namespace mp
