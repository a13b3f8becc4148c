//===- SequenceElements.cpp - The tensors of a sequence -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/SequenceElements.h"

#include "mp-opt/Operators/NodeView.h"
#include "mp-opt/Operators/OperatorTraits.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Sequences of known elements
//===----------------------------------------------------------------------===//

/// The sizes of the parts that SplitToSequence makes along its axis; absent if
/// they are not known.
static std::optional<SmallVector<int64_t>> getParts(Operation *node,
                                                    int64_t axis) {
  auto type = dyn_cast<RankedTensorType>(node->getOperand(0).getType());
  int64_t size = type ? type.getDimSize(axis) : ShapedType::kDynamic;
  std::optional<SmallVector<int64_t>> given =
      hasOperand(node, 1) ? getConstantInts(node->getOperand(1))
                          : SmallVector<int64_t>{1};
  if (!given)
    return std::nullopt;
  auto parts = hasOperand(node, 1)
                   ? dyn_cast<RankedTensorType>(node->getOperand(1).getType())
                   : RankedTensorType();
  if (parts && parts.getRank() == 1)
    return given;
  // All parts except the last have the same size.
  constexpr int64_t maxParts = 1024;
  if (given->size() != 1 || given->front() < 1 || ShapedType::isDynamic(size) ||
      size / given->front() > maxParts)
    return std::nullopt;
  SmallVector<int64_t> sizes;
  for (int64_t begin = 0; begin < size; begin += given->front())
    sizes.push_back(std::min(given->front(), size - begin));
  return sizes;
}

SequenceElements::Elements SequenceElements::split(Operation *node) {
  auto type = dyn_cast<RankedTensorType>(node->getOperand(0).getType());
  if (!type)
    return std::nullopt;
  NodeView view(node);
  std::optional<int64_t> found = view.axisIn(type.getRank());
  if (!found)
    return std::nullopt;
  int64_t axis = *found;
  std::optional<SmallVector<int64_t>> parts = getParts(node, axis);
  if (!parts || parts->empty())
    return std::nullopt;
  OpBuilder::InsertionGuard guard(builder.getBuilder());
  builder.setInsertionPointAfter(node);
  bool isSingle = !view.has(1) && !view.keepDims();
  SmallVector<Value> elements;
  if (parts->size() == 1) {
    elements.push_back(node->getOperand(0));
  } else {
    SmallVector<Type> types;
    for (int64_t size : *parts) {
      SmallVector<int64_t> shape(type.getShape());
      shape[axis] = size;
      types.push_back(RankedTensorType::get(shape, type.getElementType()));
    }
    Operation *made =
        builder.createNode("Split", {node->getOperand(0), builder.ints(*parts)},
                           types, builder.attr("axis", axis));
    elements.assign(made->result_begin(), made->result_end());
  }
  for (Value &element : elements)
    if (isSingle)
      element = builder.squeeze(element, axis);
  return elements;
}

/// The elements of a sequence that is not made from another.
SequenceElements::Elements SequenceElements::makeFirst(Operation *node) {
  if (isStandardOp(node, "SequenceEmpty"))
    return SmallVector<Value>();
  if (isStandardOp(node, "SequenceConstruct"))
    return SmallVector<Value>(node->getOperands());
  if (isStandardOp(node, "SplitToSequence"))
    return split(node);
  return std::nullopt;
}

/// The constant operand `index`, a position from 0 to `end`; `absent` if the
/// node does not have this operand.
static std::optional<int64_t> getPosition(Operation *node, unsigned index,
                                          int64_t count, int64_t end,
                                          int64_t absent) {
  if (!hasOperand(node, index))
    return absent;
  auto given = getConstantInts(node->getOperand(index));
  if (!given || given->size() != 1)
    return std::nullopt;
  int64_t position = given->front();
  position += position < 0 ? count : 0;
  return position >= 0 && position <= end ? std::optional(position)
                                          : std::nullopt;
}

/// True if the result is the sequence that the node reads.
static bool movesSequence(Operation *node) {
  return getOperatorTraits(node).movesData() && node->getNumOperands() == 1 &&
         isa<SequenceType>(node->getOperand(0).getType());
}

/// Applies `node` to the elements of the sequence that it continues.
static bool apply(Operation *node, SmallVector<Value> &elements) {
  int64_t count = elements.size();
  if (isStandardOp(node, "SequenceInsert")) {
    auto position = getPosition(node, 2, count, count, count);
    if (position)
      elements.insert(elements.begin() + *position, node->getOperand(1));
    return position.has_value();
  }
  if (isStandardOp(node, "SequenceErase")) {
    auto position = getPosition(node, 1, count, count - 1, count - 1);
    if (position && *position >= 0)
      elements.erase(elements.begin() + *position);
    return position && *position >= 0;
  }
  return movesSequence(node);
}

const SmallVector<Value> *SequenceElements::find(Value sequence) {
  // Walks back from the sequence to a known one, or to one that is not made
  // from another.
  SmallVector<Operation *> nodes;
  Value first = sequence;
  while (!known.contains(first)) {
    Operation *node = first.getDefiningOp();
    bool continues =
        node && isNode(node) &&
        (isStandardOp(node, "SequenceInsert") ||
         isStandardOp(node, "SequenceErase") || movesSequence(node));
    if (!continues) {
      known[first] = node && isNode(node) ? makeFirst(node) : std::nullopt;
      break;
    }
    nodes.push_back(node);
    first = node->getOperand(0);
  }
  Elements elements = known[first];
  for (Operation *node : llvm::reverse(nodes))
    if (elements && !apply(node, *elements))
      elements = std::nullopt;
  Elements &entry = known[sequence] = std::move(elements);
  return entry ? &*entry : nullptr;
}

//===----------------------------------------------------------------------===//
// Values taken from sequences
//===----------------------------------------------------------------------===//

/// Chooses one of several elements by an index that the model computes.
Value SequenceElements::choose(ArrayRef<Value> elements, Value index) {
  Type type = elements.front().getType();
  bool areAlike = llvm::all_of(
      elements, [&](Value element) { return element.getType() == type; });
  if (!areAlike || !NodeBuilder::getShape(elements.front()))
    return {};
  auto rows = llvm::map_to_vector(
      elements, [&](Value element) { return builder.unsqueeze(element, {0}); });
  Value scalar = builder.reshape(index, ArrayRef<int64_t>());
  return builder.gather(builder.concat(rows, 0), scalar, 0);
}

/// The part at `index` of the value that SplitToSequence splits.
Value SequenceElements::slice(Operation *split, Value index) {
  NodeView view(split);
  Value data = split->getOperand(0);
  auto rank = NodeBuilder::getRank(data);
  auto axis = rank ? view.axisIn(*rank) : std::nullopt;
  if (!axis)
    return {};
  Type wide = builder.getBuilder().getI64Type();
  Value lengths = view.has(1) ? builder.castTo(split->getOperand(1), wide)
                              : builder.intScalar(1);
  auto lengthsRank = NodeBuilder::getRank(lengths);
  Value place = builder.reshape(builder.castTo(index, wide), {1});
  Value begin, length;
  if (lengthsRank == 1) {
    Value ends = builder.create("CumSum", {lengths, builder.intScalar(0)});
    length = builder.gather(lengths, place, 0);
    begin = builder.sub(builder.gather(ends, place, 0), length);
  } else if (lengthsRank == 0) {
    length = builder.reshape(lengths, {1});
    Value more = builder.sub(builder.add(builder.dimOf(data, *axis), length),
                             builder.ints(1));
    Value back = builder.add(place, builder.div(more, length));
    Value isNegative = builder.create("Less", {place, builder.ints(0)});
    begin = builder.mul(builder.where(isNegative, back, place), length);
  } else {
    return {};
  }
  Value end = builder.add(begin, length), axes = builder.ints(*axis);
  Value part = builder.create("Slice", {data, begin, end, axes});
  return view.has(1) || view.keepDims() ? part : builder.squeeze(part, *axis);
}

Value SequenceElements::take(Value sequence, Value index) {
  auto known = getConstantInts(index);
  const SmallVector<Value> *elements = find(sequence);
  if (elements && known && known->size() == 1) {
    int64_t count = elements->size(), place = known->front();
    place += place < 0 ? count : 0;
    return place >= 0 && place < count ? (*elements)[place] : Value();
  }
  if (elements)
    return elements->empty() ? Value() : choose(*elements, index);
  Operation *node = sequence.getDefiningOp();
  bool isSplit = node && isNode(node) && isStandardOp(node, "SplitToSequence");
  return isSplit ? slice(node, index) : Value();
}

Value SequenceElements::join(Operation *node) {
  NodeView view(node);
  Value sequence = node->getOperand(0);
  bool addsAxis = view.getFlag("new_axis");
  if (const SmallVector<Value> *elements = find(sequence)) {
    SmallVector<Value> parts(*elements);
    for (Value &part : parts)
      part = addsAxis ? builder.unsqueeze(part, view.axis()) : part;
    return parts.empty() ? Value() : builder.concat(parts, view.axis());
  }
  // Joining all parts of a split gives the value that was split.
  Operation *from = sequence.getDefiningOp();
  if (!from || !isNode(from) || !isStandardOp(from, "SplitToSequence"))
    return {};
  NodeView split(from);
  auto rank = NodeBuilder::getRank(from->getOperand(0));
  bool dropsAxis = !split.has(1) && !split.keepDims();
  bool isSame = rank && split.axisIn(*rank) &&
                split.axisIn(*rank) == view.axisIn(*rank) &&
                dropsAxis == addsAxis;
  return isSame ? from->getOperand(0) : Value();
}

void SequenceElements::eraseUnused() {
  SmallVector<Operation *> worklist;
  for (auto &[sequence, elements] : known)
    if (Operation *node = sequence.getDefiningOp(); node && isNode(node))
      worklist.push_back(node);
  llvm::DenseSet<Operation *> erased;
  while (!worklist.empty()) {
    Operation *node = worklist.pop_back_val();
    if (erased.contains(node) || !node->use_empty())
      continue;
    for (Value operand : node->getOperands())
      if (Operation *definer = operand.getDefiningOp();
          definer && isa<SequenceType>(operand.getType()))
        worklist.push_back(definer);
    builder.getTypes().forget(node);
    erased.insert(node);
    node->erase();
  }
  known.clear();
}

} // namespace mp
