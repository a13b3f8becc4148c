//===- ShapeFolds.cpp - Sizes of results from sizes of operands -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shape inference either knows sizes or does not. Estimates assume a size for
// unknown dimensions, and must follow it through all values that the model
// computes from it: otherwise a tensor that is reshaped to computed sizes would
// count as a power of its true size.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Folding/ShapeFolds.h"

#include "mp-opt/Operators/OperatorTraits.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

using Shape = SmallVector<int64_t>;

class ShapeRules {
public:
  explicit ShapeRules(const ShapeQuestion &question)
      : question(question), node(question.node) {}

  EstimatedShape reshape() const;
  EstimatedShape expand() const;
  EstimatedShape fill() const { return ints(0); }
  EstimatedShape transpose() const;
  EstimatedShape product() const;
  EstimatedShape gather() const;
  EstimatedShape squeeze() const;
  EstimatedShape unsqueeze() const;
  EstimatedShape split() const;
  EstimatedShape slice() const;
  EstimatedShape concatenate() const;
  EstimatedShape reduce() const;
  EstimatedShape spread() const;

private:
  EstimatedShape dims(unsigned operand) const {
    return node.has(operand) ? question.getShape(getOperand(operand))
                             : std::nullopt;
  }
  /// All integers of an operand.
  EstimatedShape ints(unsigned operand) const;
  /// `axes`, an attribute or an operand; empty if it is not given.
  EstimatedShape axes(unsigned operand, int64_t rank) const;
  Value getOperand(unsigned operand) const {
    return node.getNode()->getOperand(operand);
  }

  const ShapeQuestion &question;
  const NodeView &node;
};

} // namespace

EstimatedShape ShapeRules::ints(unsigned operand) const {
  const KnownTensor *tensor =
      node.has(operand) ? question.known.lookup(getOperand(operand)) : nullptr;
  if (!tensor || !tensor->isComplete())
    return std::nullopt;
  return llvm::map_to_vector(
      tensor->elements,
      [](const KnownTensor::Element &element) { return *element; });
}

EstimatedShape ShapeRules::axes(unsigned operand, int64_t rank) const {
  EstimatedShape found =
      node.has(operand) ? ints(operand) : EstimatedShape(node.getInts("axes"));
  if (!found)
    return std::nullopt;
  for (int64_t &axis : *found) {
    std::optional<int64_t> place = normalizeAxis(axis, rank);
    if (!place)
      return std::nullopt;
    axis = *place;
  }
  return found;
}

/// The larger size of each axis, counted from the last one.
static Shape broadcast(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape shape(a);
  for (auto [size, other] : llvm::zip(llvm::reverse(shape), llvm::reverse(b)))
    size = size == 1 ? other : size;
  return shape;
}

static int64_t count(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(elements, size, elements))
      return 0;
  return elements;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// 0 means the operand's size, and -1 the size that follows from the others.
EstimatedShape ShapeRules::reshape() const {
  EstimatedShape shape = ints(1), operand = dims(0);
  if (!shape || !operand)
    return std::nullopt;
  int64_t *open = nullptr;
  for (auto [axis, size] : llvm::enumerate(*shape)) {
    if (size == 0 && axis < operand->size())
      size = (*operand)[axis];
    if (size == -1)
      open = &size;
  }
  if (!open)
    return shape;
  *open = 1;
  int64_t others = count(*shape);
  if (others < 1)
    return std::nullopt;
  *open = std::max<int64_t>(1, count(*operand) / others);
  return shape;
}

EstimatedShape ShapeRules::expand() const {
  EstimatedShape shape = ints(1), operand = dims(0);
  if (!shape || !operand)
    return std::nullopt;
  return broadcast(*operand, *shape);
}

EstimatedShape ShapeRules::transpose() const {
  EstimatedShape operand = dims(0);
  if (!operand)
    return std::nullopt;
  Shape permutation = node.permutation(operand->size()), shape;
  for (int64_t axis : permutation) {
    if (axis < 0 || axis >= int64_t(operand->size()))
      return std::nullopt;
    shape.push_back((*operand)[axis]);
  }
  return shape;
}

EstimatedShape ShapeRules::product() const {
  EstimatedShape a = dims(0), b = dims(1);
  if (!a || !b || a->size() < 2 || b->size() < 2)
    return std::nullopt;
  if (node.getFlag("transA"))
    std::swap(a->end()[-1], a->end()[-2]);
  if (node.getFlag("transB"))
    std::swap(b->end()[-1], b->end()[-2]);
  Shape shape = broadcast(ArrayRef(*a).drop_back(2), ArrayRef(*b).drop_back(2));
  shape.append({a->end()[-2], b->end()[-1]});
  return shape;
}

EstimatedShape ShapeRules::gather() const {
  EstimatedShape data = dims(0), indices = dims(1);
  std::optional<int64_t> axis = data ? node.axisIn(data->size()) : std::nullopt;
  if (!axis || !indices)
    return std::nullopt;
  Shape shape(data->begin(), data->begin() + *axis);
  shape.append(*indices);
  shape.append(data->begin() + *axis + 1, data->end());
  return shape;
}

EstimatedShape ShapeRules::squeeze() const {
  EstimatedShape operand = dims(0);
  EstimatedShape gone = operand ? axes(1, operand->size()) : std::nullopt;
  if (!gone)
    return std::nullopt;
  Shape shape;
  for (auto [axis, size] : llvm::enumerate(*operand))
    if (gone->empty() ? size != 1 : !llvm::is_contained(*gone, int64_t(axis)))
      shape.push_back(size);
  return shape;
}

EstimatedShape ShapeRules::unsqueeze() const {
  EstimatedShape operand = dims(0);
  int64_t rank = cast<RankedTensorType>(
                     node.getNode()->getResult(question.result).getType())
                     .getRank();
  EstimatedShape made = operand ? axes(1, rank) : std::nullopt;
  if (!made || operand->size() + made->size() != size_t(rank))
    return std::nullopt;
  Shape shape;
  for (int64_t axis = 0, next = 0; axis < rank; ++axis)
    shape.push_back(llvm::is_contained(*made, axis)   ? 1
                    : next < int64_t(operand->size()) ? (*operand)[next++]
                                                      : 1);
  return shape;
}

EstimatedShape ShapeRules::split() const {
  EstimatedShape shape = dims(0);
  std::optional<int64_t> axis =
      shape ? node.axisIn(shape->size()) : std::nullopt;
  if (!axis)
    return std::nullopt;
  EstimatedShape parts =
      node.has(1) ? ints(1) : EstimatedShape(node.getInts("split"));
  int64_t &size = (*shape)[*axis];
  if (parts && question.result < parts->size())
    size = (*parts)[question.result];
  else
    size = std::max<int64_t>(1, size / node.getNode()->getNumResults());
  return shape;
}

/// The length of a range of an axis, limited to the axis.
static int64_t countTaken(int64_t start, int64_t end, int64_t step,
                          int64_t size) {
  auto place = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  uint64_t length = uint64_t(std::abs(place(end) - place(start)));
  uint64_t distance = step < 0 ? -uint64_t(step) : uint64_t(step);
  return std::max<int64_t>(1, int64_t(llvm::divideCeil(length, distance)));
}

EstimatedShape ShapeRules::slice() const {
  EstimatedShape shape = dims(0), starts = ints(1), ends = ints(2);
  if (!shape || !starts || !ends || starts->size() != ends->size() ||
      (node.has(4) && !ints(4)))
    return std::nullopt;
  Shape steps = ints(4).value_or(Shape(starts->size(), 1)), places;
  if (node.has(3)) {
    EstimatedShape given = axes(3, shape->size());
    if (!given)
      return std::nullopt;
    places = *given;
  } else {
    places = llvm::to_vector(llvm::seq<int64_t>(0, starts->size()));
  }
  if (places.size() != starts->size() || steps.size() != starts->size())
    return std::nullopt;
  for (auto [axis, start, end, step] : llvm::zip(places, *starts, *ends, steps))
    if (axis < int64_t(shape->size()) && step)
      (*shape)[axis] = countTaken(start, end, step, (*shape)[axis]);
  return shape;
}

EstimatedShape ShapeRules::concatenate() const {
  EstimatedShape shape = dims(0);
  std::optional<int64_t> axis =
      shape ? node.axisIn(shape->size()) : std::nullopt;
  if (!axis)
    return std::nullopt;
  for (unsigned operand = 1; operand < node.getNumOperands(); ++operand) {
    EstimatedShape other = dims(operand);
    if (!other || other->size() != shape->size() ||
        llvm::AddOverflow((*shape)[*axis], (*other)[*axis], (*shape)[*axis]))
      return std::nullopt;
  }
  return shape;
}

EstimatedShape ShapeRules::reduce() const {
  EstimatedShape operand = dims(0);
  EstimatedShape gone = operand ? axes(1, operand->size()) : std::nullopt;
  if (!gone)
    return std::nullopt;
  bool isAll = gone->empty() && !node.getFlag("noop_with_empty_axes");
  Shape shape;
  for (auto [axis, size] : llvm::enumerate(*operand))
    if (!isAll && !llvm::is_contained(*gone, int64_t(axis)))
      shape.push_back(size);
    else if (node.keepDims())
      shape.push_back(1);
  return shape;
}

EstimatedShape ShapeRules::spread() const {
  Shape shape;
  for (unsigned operand = 0; operand < node.getNumOperands(); ++operand) {
    if (!node.has(operand))
      continue;
    EstimatedShape other = dims(operand);
    if (!other)
      return std::nullopt;
    shape = broadcast(shape, *other);
  }
  return shape;
}

EstimatedShape estimateShape(const ShapeQuestion &question) {
  Operation *op = question.node.getNode();
  if (getDomain(op) != "")
    return std::nullopt;
  using Rule = EstimatedShape (ShapeRules::*)() const;
  OperatorKind kind = getOperatorTraits(op).kind;
  bool isSpread = kind == OperatorKind::Elementwise ||
                  kind == OperatorKind::Logic || isStandardOp(op, "Where");
  StringRef name = getOpType(op);
  Rule rule = llvm::StringSwitch<Rule>(name)
                  .Case("Reshape", &ShapeRules::reshape)
                  .Case("Expand", &ShapeRules::expand)
                  .Case("ConstantOfShape", &ShapeRules::fill)
                  .Case("Transpose", &ShapeRules::transpose)
                  .Cases({"MatMul", "Gemm"}, &ShapeRules::product)
                  .Case("Gather", &ShapeRules::gather)
                  .Case("Squeeze", &ShapeRules::squeeze)
                  .Case("Unsqueeze", &ShapeRules::unsqueeze)
                  .Case("Split", &ShapeRules::split)
                  .Case("Slice", &ShapeRules::slice)
                  .Case("Concat", &ShapeRules::concatenate)
                  .Default(name.starts_with("Reduce") ? &ShapeRules::reduce
                           : isSpread                 ? &ShapeRules::spread
                                                      : nullptr);
  return rule ? (ShapeRules(question).*rule)() : std::nullopt;
}

} // namespace mp
