//===- MovementFolds.cpp - Shapes, and elements that are moved ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldRules.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

using Element = KnownTensor::Element;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static Folded foldShape(const FoldedNode &node) {
  auto type =
      dyn_cast<RankedTensorType>(node.getNode()->getOperand(0).getType());
  if (!type)
    return std::nullopt;
  int64_t rank = type.getRank();
  auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  int64_t start = clamp(node.getInt("start"));
  int64_t end = clamp(node.getInt("end", rank));
  KnownTensor result{{std::max<int64_t>(end - start, 0)}, {}};
  for (int64_t axis = start; axis < end; ++axis)
    result.elements.push_back(type.isDynamicDim(axis) ? Element()
                                                      : type.getDimSize(axis));
  return result;
}

static Folded foldSize(const FoldedNode &node) {
  auto type =
      dyn_cast<RankedTensorType>(node.getNode()->getOperand(0).getType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  return KnownTensor{{}, {Element(type.getNumElements())}};
}

//===----------------------------------------------------------------------===//
// Moving
//===----------------------------------------------------------------------===//

/// Picks `indices` of `data` along an axis; the result has their number there.
static KnownTensor pick(const KnownTensor &data, int64_t axis,
                        ArrayRef<int64_t> indices) {
  int64_t inner = 1, outer = 1;
  for (auto [place, size] : llvm::enumerate(data.shape))
    (int64_t(place) < axis ? outer : inner) *=
        int64_t(place) == axis ? 1 : size;
  int64_t length = data.shape[axis];
  KnownTensor result = data;
  result.shape[axis] = indices.size();
  result.elements.clear();
  for (int64_t block = 0; block < outer; ++block)
    for (int64_t index : indices)
      llvm::append_range(result.elements,
                         ArrayRef(data.elements)
                             .slice((block * length + index) * inner, inner));
  return result;
}

static Folded foldGather(const FoldedNode &node) {
  const KnownTensor *data = node.in(0), *positions = node.in(1);
  auto indices = node.ints(1);
  if (!data || !indices)
    return std::nullopt;
  auto axis = node.axisIn(data->shape.size());
  if (!axis)
    return std::nullopt;
  for (int64_t &index : *indices) {
    auto place = normalizeAxis(index, data->shape[*axis]);
    if (!place)
      return std::nullopt;
    index = *place;
  }
  SmallVector<int64_t> shape(data->shape);
  shape.erase(shape.begin() + *axis);
  shape.insert(shape.begin() + *axis, positions->shape.begin(),
               positions->shape.end());
  if (!countElements(shape))
    return std::nullopt;
  KnownTensor result = pick(*data, *axis, *indices);
  result.shape = shape;
  return result;
}

static Folded foldSlice(const FoldedNode &node) {
  const KnownTensor *data = node.in(0);
  auto starts = node.ints(1), ends = node.ints(2), axes = node.ints(3),
       steps = node.ints(4);
  if (!data || !starts || !ends || (node.has(3) && !axes) ||
      (node.has(4) && !steps))
    return std::nullopt;
  if (!axes)
    axes = llvm::to_vector(llvm::seq<int64_t>(starts->size()));
  if (!steps)
    steps = SmallVector<int64_t>(starts->size(), 1);
  if (ends->size() != starts->size() || axes->size() != starts->size() ||
      steps->size() != starts->size())
    return std::nullopt;
  KnownTensor result = *data;
  for (auto [start, end, given, step] :
       llvm::zip(*starts, *ends, *axes, *steps)) {
    auto axis = normalizeAxis(given, result.shape.size());
    if (!axis || step == 0)
      return std::nullopt;
    int64_t count = result.shape[*axis];
    auto clamp = [&](int64_t place, int64_t low, int64_t high) {
      return std::clamp(place < 0 ? place + count : place, low, high);
    };
    int64_t lowest = step > 0 ? 0 : -1, highest = lowest + count;
    int64_t first =
        step > 0 ? clamp(start, 0, count) : clamp(start, -1, count - 1);
    int64_t last = clamp(end, lowest, highest);
    SmallVector<int64_t> indices;
    for (int64_t i = first; step > 0 ? i < last : i > last;) {
      indices.push_back(i);
      // A step may be as large as the greatest number.
      if (step >= count || step <= -count)
        break;
      i += step;
    }
    result = pick(result, *axis, indices);
  }
  return result;
}

static Folded foldConcat(const FoldedNode &node) {
  const KnownTensor *first = node.in(0);
  auto axis = first ? node.axisIn(first->shape.size()) : std::nullopt;
  if (!axis)
    return std::nullopt;
  // Copies blocks of the operands in turn, for each index of the outer axes.
  int64_t outer = 1;
  for (int64_t size : ArrayRef(first->shape).take_front(*axis))
    outer *= size;
  KnownTensor result{first->shape, {}};
  result.shape[*axis] = 0;
  for (unsigned index = 0; index < node.getNumOperands(); ++index) {
    const KnownTensor *part = node.in(index);
    if (!part || part->shape.size() != first->shape.size())
      return std::nullopt;
    for (auto [place, size] : llvm::enumerate(part->shape))
      if (int64_t(place) != *axis && size != first->shape[place])
        return std::nullopt;
    result.shape[*axis] += part->shape[*axis];
  }
  if (!countElements(result.shape))
    return std::nullopt;
  for (int64_t block = 0; block < outer; ++block)
    for (unsigned index = 0; index < node.getNumOperands(); ++index) {
      ArrayRef<Element> from = node.in(index)->elements;
      size_t length = from.size() / outer;
      llvm::append_range(result.elements, from.slice(block * length, length));
    }
  return result;
}

/// Reshape, Squeeze, Unsqueeze, Flatten: the same elements in the shape of the
/// result's type, or as a vector.
static Folded foldReshape(const FoldedNode &node) {
  const KnownTensor *data = node.in(0);
  auto type = dyn_cast<RankedTensorType>(node.outType());
  if (!data || !type || (!type.hasStaticShape() && type.getRank() != 1))
    return std::nullopt;
  KnownTensor result{SmallVector<int64_t>(type.getShape()), data->elements};
  if (!type.hasStaticShape())
    result.shape = {int64_t(data->elements.size())};
  return countElements(result.shape) == int64_t(data->elements.size())
             ? Folded(result)
             : std::nullopt;
}

static Folded foldTranspose(const FoldedNode &node) {
  const KnownTensor *data = node.in(0);
  if (!data)
    return std::nullopt;
  int64_t rank = data->shape.size();
  SmallVector<int64_t> order = node.permutation(rank);
  SmallVector<int64_t> strides(rank, 1), sorted(order);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(rank)))
    return std::nullopt;
  for (int64_t axis = rank - 1; axis > 0; --axis)
    strides[axis - 1] = strides[axis] * data->shape[axis];
  KnownTensor result;
  for (int64_t axis : order)
    result.shape.push_back(data->shape[axis]);
  for (size_t index = 0; index < data->elements.size(); ++index) {
    int64_t rest = index, from = 0;
    for (int64_t axis = rank; axis-- > 0; rest /= result.shape[axis])
      from += rest % result.shape[axis] * strides[order[axis]];
    result.elements.push_back(data->elements[from]);
  }
  return result;
}

static Folded foldIdentity(const FoldedNode &node) {
  const KnownTensor *data = node.in(0);
  return data ? Folded(*data) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Filling
//===----------------------------------------------------------------------===//

static Folded foldExpand(const FoldedNode &node) {
  const KnownTensor *data = node.in(0);
  auto wanted = node.ints(1);
  if (!data || !wanted)
    return std::nullopt;
  size_t rank = std::max(wanted->size(), data->shape.size());
  wanted->insert(wanted->begin(), rank - wanted->size(), 1);
  for (auto [size, own] :
       llvm::zip(llvm::reverse(*wanted), llvm::reverse(data->shape)))
    size = size == 1 ? own : size;
  return broadcast(*data, *wanted);
}

static Folded foldConstantOfShape(const FoldedNode &node) {
  auto shape = node.ints(0);
  Attribute held = node.getNode()->getAttr("value");
  if (auto tensor = dyn_cast_or_null<TensorAttr>(held))
    held = tensor.getValue();
  // Without a value, the elements are floats.
  auto elements = dyn_cast_or_null<DenseIntElementsAttr>(held);
  if (!shape || !elements || elements.getNumElements() != 1)
    return std::nullopt;
  APInt value = *elements.getValues<APInt>().begin();
  bool hasSign =
      value.getBitWidth() > 1 && !elements.getElementType().isUnsignedInteger();
  return broadcast(
      {{}, {hasSign ? value.getSExtValue() : int64_t(value.getZExtValue())}},
      *shape);
}

static Folded foldRange(const FoldedNode &node) {
  auto start = node.ints(0), limit = node.ints(1), step = node.ints(2);
  if (!start || !limit || !step || start->size() != 1 || limit->size() != 1 ||
      step->size() != 1 || step->front() == 0)
    return std::nullopt;
  KnownTensor result{{0}, {}};
  for (int64_t i = start->front();
       step->front() > 0 ? i < limit->front() : i > limit->front();) {
    result.elements.push_back(i);
    if (int64_t(result.elements.size()) > maxKnownElements)
      return std::nullopt;
    if (llvm::AddOverflow(i, step->front(), i))
      break;
  }
  result.shape[0] = result.elements.size();
  return result;
}

FoldRule findMovementFold(StringRef op) {
  return llvm::StringSwitch<FoldRule>(op)
      .Case("Shape", foldShape)
      .Case("Size", foldSize)
      .Case("Gather", foldGather)
      .Case("Slice", foldSlice)
      .Case("Concat", foldConcat)
      .Cases({"Reshape", "Squeeze", "Unsqueeze", "Flatten"}, foldReshape)
      .Case("Transpose", foldTranspose)
      .Case("Identity", foldIdentity)
      .Case("Expand", foldExpand)
      .Case("ConstantOfShape", foldConstantOfShape)
      .Case("Range", foldRange)
      .Default(nullptr);
}

} // namespace mp
