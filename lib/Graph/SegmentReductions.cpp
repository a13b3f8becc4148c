//===- SegmentReductions.cpp - Reductions of consecutive rows -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operands of a Concat are compared with the first of them: they must be
// the same nodes up to Slices along the first axis, which differ in their
// bounds. All nodes in between compute each row separately. The same nodes
// without the Slices compute all rows, followed by one reduction: along an axis
// if segments have one length, else by a ScatterND.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/SegmentReductions.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Operators/NodeView.h"
#include "mp-opt/Operators/OperatorTraits.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

struct Segment {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

class SegmentJoiner {
public:
  SegmentJoiner(NodeBuilder &b, Operation *concat) : b(b), concat(concat) {}

  Value run();

private:
  Operation *getReduction(Value part) const;
  bool isEqual(Value value, Value first, std::optional<Segment> &bounds);
  bool findSegments();
  Value rebuild(Value value);
  Value reduceEqual(Value rows, ArrayRef<int64_t> shape);
  Value scatter(Value rows, ArrayRef<int64_t> shape);
  /// A constant with one number for each segment, along the first axis.
  Value column(int64_t rank, llvm::function_ref<double(const Segment &)> get,
               Type element);

  NodeBuilder &b;
  Operation *concat;
  /// The first reduction.
  Operation *model = nullptr;
  OperatorMath math = OperatorMath::Other;
  SmallVector<Segment> segments;
};

} // namespace

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// True for zeros that are stored or expanded.
static bool isZero(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && isNode(op) && isStandardOp(op, "Expand"))
    op = op->getOperand(0).getDefiningOp();
  if (!op)
    return false;
  if (auto list = op->getAttrOfType<DenseF32ArrayAttr>("value_floats"))
    return llvm::all_of(list.asArrayRef(), [](float x) { return x == 0; });
  Attribute held = op->getAttr("value");
  if (auto initializer = dyn_cast<InitializerOp>(op))
    held = initializer.getOverridable() ? Attribute()
                                        : Attribute(initializer.getValueAttr());
  if (auto tensor = dyn_cast_or_null<TensorAttr>(held))
    held = tensor.getValue();
  auto elements = dyn_cast_or_null<DenseFPElementsAttr>(held);
  return elements && llvm::all_of(elements.getValues<APFloat>(),
                                  [](const APFloat &x) { return x.isZero(); });
}

/// The axes of a node, from an operand or an attribute.
static std::optional<SmallVector<int64_t>> getAxes(Operation *op,
                                                   unsigned operand) {
  if (hasOperand(op, operand))
    return getConstantInts(op->getOperand(operand));
  return NodeView(op).getInts("axes");
}

/// The rows that a Slice takes from the first axis; absent for other nodes.
static std::optional<Segment> getBounds(Operation *op) {
  if (!isNode(op) || !isStandardOp(op, "Slice") || op->getNumOperands() < 3)
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto begin = getConstantInts(op->getOperand(1));
  auto end = getConstantInts(op->getOperand(2));
  auto axes = hasOperand(op, 3) ? getConstantInts(op->getOperand(3))
                                : SmallVector<int64_t>{0};
  auto steps = hasOperand(op, 4) ? getConstantInts(op->getOperand(4))
                                 : SmallVector<int64_t>{1};
  SmallVector<int64_t> zero{0}, one{1};
  if (!type || type.getRank() == 0 || !begin || begin->size() != 1 || !end ||
      end->size() != 1 || axes != zero || steps != one)
    return std::nullopt;
  Segment bounds{begin->front(), end->front()};
  bool isInside = bounds.begin >= 0 && bounds.begin <= bounds.end &&
                  !type.isDynamicDim(0) && bounds.end <= type.getDimSize(0);
  return isInside ? std::optional(bounds) : std::nullopt;
}

/// True if each row of the result is computed from the same row of the operands
/// that have rows.
static bool keepsRows(Operation *op, unsigned operand) {
  if (isStandardOp(op, "Gather"))
    return operand == 1 && NodeView(op).axis() == 0;
  if (isStandardOp(op, "Unsqueeze")) {
    auto axes = getAxes(op, 1);
    return operand == 0 && axes &&
           llvm::all_of(*axes, [](int64_t axis) { return axis > 0; });
  }
  if (isStandardOp(op, "Mul")) {
    auto rank = NodeBuilder::getRank(op->getResult(0));
    return rank && NodeBuilder::getRank(op->getOperand(operand)) == rank;
  }
  return operand == 0 && (getOperatorTraits(op).math == OperatorMath::Cast ||
                          isStandardOp(op, "Identity"));
}

/// True if `value` is computed from a Slice, row by row.
static bool readsSlice(Value value) {
  SmallVector<Value> worklist{value};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || !isNode(op))
      continue;
    if (getBounds(op))
      return true;
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      if (keepsRows(op, index))
        worklist.push_back(operand);
  }
  return false;
}

/// True for operands that all rows share: a table, a type, a factor.
static bool isShared(Operation *op, unsigned operand) {
  auto type = dyn_cast<RankedTensorType>(op->getOperand(operand).getType());
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!isStandardOp(op, "Mul"))
    return true;
  return type && result &&
         (type.getRank() < result.getRank() || type.getDimSize(0) == 1);
}

static bool haveEqualAttributes(Operation *op, Operation *other) {
  auto filter = [](Operation *node) {
    SmallVector<NamedAttribute> kept;
    for (NamedAttribute attribute : node->getAttrs())
      if (!attribute.getName().getValue().contains('.'))
        kept.push_back(attribute);
    return DictionaryAttr::get(node->getContext(), kept);
  };
  return op->getName() == other->getName() && filter(op) == filter(other) &&
         op->getNumOperands() == other->getNumOperands();
}

/// True if `value` is computed like `first`, but from other rows, which are
/// added to `bounds`.
bool SegmentJoiner::isEqual(Value value, Value first,
                            std::optional<Segment> &bounds) {
  Operation *op = value.getDefiningOp(), *other = first.getDefiningOp();
  if (!op || !other || !isNode(op) || !isNode(other))
    return false;
  auto own = getBounds(op);
  if (own && getBounds(other)) {
    bool isKnown =
        bounds && (bounds->begin != own->begin || bounds->end != own->end);
    bounds = own;
    return !isKnown && op->getOperand(0) == other->getOperand(0);
  }
  if (op->getNumRegions() || op->getNumResults() != 1 ||
      !haveEqualAttributes(op, other))
    return false;
  bool hasRows = false;
  for (unsigned index = 0; index < op->getNumOperands(); ++index) {
    Value operand = op->getOperand(index), expected = other->getOperand(index);
    auto ints = getConstantInts(operand);
    bool isSame =
        operand == expected || (ints && ints == getConstantInts(expected));
    if (isSame && !readsSlice(operand)) {
      if (!isShared(op, index))
        return false;
      continue;
    }
    if (!keepsRows(op, index) || !isEqual(operand, expected, bounds))
      return false;
    hasRows = true;
  }
  return hasRows;
}

/// The reduction over rows that yields `part`, along its first axis, which has
/// size 1; null for other values.
Operation *SegmentJoiner::getReduction(Value part) const {
  Operation *op = part.getDefiningOp();
  bool addsAxis = op && isNode(op) && isStandardOp(op, "Unsqueeze");
  if (addsAxis) {
    if (getAxes(op, 1) != SmallVector<int64_t>{0})
      return nullptr;
    op = op->getOperand(0).getDefiningOp();
  }
  bool reduces = op && isNode(op) && getOperatorTraits(op).reduces() &&
                 llvm::is_contained(
                     {OperatorMath::Sum, OperatorMath::Mean, OperatorMath::Max},
                     getOperatorTraits(op).math);
  if (!reduces || getAxes(op, 1) != SmallVector<int64_t>{0} ||
      NodeView(op).keepDims() == addsAxis)
    return nullptr;
  return op;
}

bool SegmentJoiner::findSegments() {
  for (Value part : concat->getOperands())
    if (Operation *reduction = getReduction(part); reduction && !model)
      model = reduction;
  if (!model)
    return false;
  math = getOperatorTraits(model).math;
  int64_t end = 0;
  for (Value part : concat->getOperands()) {
    Operation *reduction = getReduction(part);
    if (!reduction) {
      if (!isZero(part))
        return false;
      segments.push_back({end, end});
      continue;
    }
    std::optional<Segment> bounds;
    if (reduction->getName() != model->getName() ||
        !isEqual(reduction->getOperand(0), model->getOperand(0), bounds) ||
        !bounds)
      return false;
    if (bounds->size() == 0) {
      // The mean or the maximum of an empty segment is not zero.
      if (math != OperatorMath::Sum)
        return false;
      segments.push_back({end, end});
      continue;
    }
    // The first rows may start anywhere.
    bool isFirst = llvm::all_of(
        segments, [](const Segment &other) { return other.size() == 0; });
    if (isFirst)
      for (Segment &other : segments)
        other = {bounds->begin, bounds->begin};
    else if (bounds->begin != end)
      return false;
    segments.push_back(*bounds);
    end = bounds->end;
  }
  return segments.size() > 1;
}

//===----------------------------------------------------------------------===//
// All rows at once
//===----------------------------------------------------------------------===//

/// Computes the operand of the first reduction for the rows of all segments.
Value SegmentJoiner::rebuild(Value value) {
  Operation *op = value.getDefiningOp();
  if (getBounds(op)) {
    Value data = op->getOperand(0);
    int64_t begin = segments.front().begin, end = segments.back().end;
    int64_t size = cast<RankedTensorType>(data.getType()).getDimSize(0);
    return begin == 0 && end == size ? data : b.slice(data, 0, begin, end);
  }
  SmallVector<Value> operands(op->getOperands());
  for (auto [index, operand] : llvm::enumerate(operands))
    if (keepsRows(op, index) && readsSlice(operand))
      operand = rebuild(operand);
  SmallVector<NamedAttribute> attributes;
  for (NamedAttribute attribute : op->getAttrs())
    if (!attribute.getName().getValue().contains('.'))
      attributes.push_back(attribute);
  return b.create(getQualifiedName(getDomain(op), getOpType(op)), operands,
                  attributes);
}

Value SegmentJoiner::column(int64_t rank,
                            llvm::function_ref<double(const Segment &)> get,
                            Type element) {
  SmallVector<Attribute> numbers;
  for (const Segment &segment : segments)
    numbers.push_back(b.getBuilder().getFloatAttr(element, get(segment)));
  SmallVector<int64_t> shape(rank, 1);
  shape.front() = segments.size();
  return b.constant(DenseElementsAttr::get(
      RankedTensorType::get(shape, element), ArrayRef<Attribute>(numbers)));
}

Value SegmentJoiner::reduceEqual(Value rows, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> blocks{int64_t(segments.size()),
                              segments.front().size()};
  llvm::append_range(blocks, shape.drop_front());
  Value split = b.reshape(rows, blocks);
  NamedAttribute keeps = b.attr("keepdims", int64_t(0));
  if (math == OperatorMath::Sum || hasOperand(model, 1))
    return b.create(getOpType(model), {split, b.ints(1)}, keeps);
  return b.create(getOpType(model), {split},
                  {keeps, b.attr("axes", ArrayRef<int64_t>{1})});
}

Value SegmentJoiner::scatter(Value rows, ArrayRef<int64_t> shape) {
  Type element = getTensorElementType(rows.getType());
  bool isMax = math == OperatorMath::Max;
  SmallVector<int64_t> places, sizes(shape);
  for (auto [number, segment] : llvm::enumerate(segments))
    places.append(segment.size(), int64_t(number));
  sizes.front() = segments.size();
  double low =
      isMax ? APFloat::getLargest(cast<FloatType>(element).getFloatSemantics(),
                                  /*Negative=*/true)
                  .convertToDouble()
            : 0;
  Value start = b.expand(b.scalar(low, element), b.ints(sizes));
  Value all =
      b.create("ScatterND", {start, b.unsqueeze(b.ints(places), 1), rows},
               b.attr("reduction", StringRef(isMax ? "max" : "add")));
  int64_t rank = sizes.size();
  if (math == OperatorMath::Mean)
    return b.mul(all, column(
                          rank,
                          [](const Segment &segment) {
                            return segment.size() ? 1.0 / segment.size() : 0;
                          },
                          element));
  bool hasEmpty = llvm::any_of(
      segments, [](const Segment &segment) { return segment.size() == 0; });
  if (!isMax || !hasEmpty)
    return all;
  Value count = column(
      rank, [](const Segment &segment) { return double(segment.size()); },
      element);
  Value isEmpty = b.create("Equal", {count, b.scalar(0, element)});
  return b.where(isEmpty, b.scalar(0, element), all);
}

Value SegmentJoiner::run() {
  if (NodeView(concat).axis() != 0 || concat->getNumOperands() < 2 ||
      !findSegments())
    return {};
  bool areEqual = llvm::all_of(segments, [&](const Segment &segment) {
    return segment.size() == segments.front().size();
  });
  // ScatterND supports sums from opset 16 on, maxima from 18 on.
  if (!areEqual && getOpset(concat, "").value_or(1) < 18)
    return {};
  auto shape = NodeBuilder::getShape(model->getOperand(0));
  Type element = getTensorElementType(model->getOperand(0).getType());
  if (!shape || !isa_and_nonnull<FloatType>(element))
    return {};
  Value rows = rebuild(model->getOperand(0));
  return areEqual ? reduceEqual(rows, *shape) : scatter(rows, *shape);
}

Value joinSegments(NodeBuilder &builder, Operation *concat) {
  return SegmentJoiner(builder, concat).run();
}

} // namespace mp
