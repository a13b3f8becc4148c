//===- ShapeFolding.cpp - Shapes are computed while compiling -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters compute shapes with nodes: Shape -> Gather -> Concat -> Reshape;
// backward passes compute the axes of broadcasts. This file computes the same
// on sizes at compile time, exactly as the nodes would. A case that a function
// below cannot decide is left to the rules.
//
//===----------------------------------------------------------------------===//

#include "ShapeFolding.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace mp {

static std::optional<int64_t> getConstant(Size size) {
  return Emitter::getConstant(size);
}

//===----------------------------------------------------------------------===//
// Sizes of tensors
//===----------------------------------------------------------------------===//

static Ints foldShapeOp(NodeLowering &node) {
  Sizes sizes;
  if (const ShapeValue *known = node.getKnown(0)) {
    for (int64_t extent : known->shape)
      sizes.push_back(node.e.size(extent));
  } else {
    TensorValue tensor = node.in(0);
    if (!tensor)
      return std::nullopt;
    sizes = node.e.sizes(tensor);
  }
  if (node.getOpType() == "Size")
    return ShapeValue{{node.e.product(sizes)}, {}};
  int64_t rank = sizes.size();
  auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  int64_t start = clamp(node.getInt("start"));
  int64_t end = clamp(node.getInt("end", rank));
  Sizes part(sizes.begin() + start, sizes.begin() + std::max(start, end));
  int64_t count = part.size();
  return ShapeValue{std::move(part), {count}};
}

//===----------------------------------------------------------------------===//
// Sequences of numbers
//===----------------------------------------------------------------------===//

static Ints foldConstantOfShape(NodeLowering &node) {
  auto shape = node.constantInts(0);
  auto count = shape ? countKnown(*shape) : std::nullopt;
  if (!count)
    return std::nullopt;
  int64_t value = 0;
  if (Attribute attribute = node.getNode()->getAttr("value")) {
    if (auto tensor = dyn_cast<onnxir::TensorAttr>(attribute))
      attribute = tensor.getValue();
    auto elements = dyn_cast_or_null<DenseIntElementsAttr>(attribute);
    if (!elements || elements.getNumElements() != 1)
      return std::nullopt;
    value = (*elements.getValues<APInt>().begin()).getSExtValue();
  } else {
    return std::nullopt;
  }
  return ShapeValue{Sizes(*count, node.e.size(value)), *shape};
}

static Ints foldRange(NodeLowering &node) {
  auto start = node.constantInts(0), limit = node.constantInts(1),
       delta = node.constantInts(2);
  auto isOne = [](auto &list) { return list && list->size() == 1; };
  if (!isOne(start) || !isOne(limit) || !isOne(delta) || delta->front() == 0)
    return std::nullopt;
  ShapeValue result{{}, {0}};
  for (int64_t i = start->front();
       delta->front() > 0 ? i < limit->front() : i > limit->front();
       i += delta->front()) {
    result.values.push_back(node.e.size(i));
    if (int64_t(result.values.size()) > maxShapeElements)
      return std::nullopt;
  }
  result.shape[0] = result.values.size();
  return result;
}

static Ints foldNonZero(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  auto list = node.constantInts(0);
  if (!data || !list || data->shape.empty())
    return std::nullopt;
  int64_t rank = data->shape.size();
  // One row of the result for each axis.
  SmallVector<Sizes> rows(rank);
  bool isWhole = forEachIndex(data->shape, [&](ArrayRef<int64_t> indices) {
    if ((*list)[getPlace(indices, data->shape)])
      for (auto [row, index] : llvm::zip(rows, indices))
        row.push_back(node.e.size(index));
    return true;
  });
  if (!isWhole)
    return std::nullopt;
  ShapeValue result{{}, {rank, int64_t(rows.front().size())}};
  for (const Sizes &row : rows)
    llvm::append_range(result.values, row);
  return result;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

using BinaryFn = Size (*)(Emitter &, Size, Size);

/// Folds constants only: for truth values, and operators without a simple form
/// on sizes.
template <typename Fn>
static Size onConstants(Emitter &e, Size x, Size y, Fn fn) {
  auto a = getConstant(x), b = getConstant(y);
  return a && b ? e.size(fn(*a, *b)) : Size();
}

static BinaryFn getBinary(StringRef op) {
  return llvm::StringSwitch<BinaryFn>(op)
      .Case("Add", [](Emitter &e, Size x, Size y) { return e.add(x, y); })
      .Case("Sub", [](Emitter &e, Size x, Size y) { return e.sub(x, y); })
      .Case("Mul", [](Emitter &e, Size x, Size y) { return e.mul(x, y); })
      .Case("Max", [](Emitter &e, Size x, Size y) { return e.max(x, y); })
      .Case("Min", [](Emitter &e, Size x, Size y) { return e.min(x, y); })
      .Case("Div",
            [](Emitter &e, Size x, Size y) {
              auto number = getConstant(x), divisor = getConstant(y);
              // The quotient is rounded towards zero if a number may be
              // negative.
              if (number && divisor && *divisor && *divisor != -1)
                return e.size(*number / *divisor);
              if (!number && divisor && *divisor > 0)
                return e.floorDiv(x, y);
              return Size();
            })
      .Case("Mod",
            [](Emitter &e, Size x, Size y) {
              auto number = getConstant(x), divisor = getConstant(y);
              if (!number || !divisor || *number < 0 || *divisor <= 0)
                return Size();
              return e.size(*number % *divisor);
            })
      .Case("Equal",
            [](Emitter &e, Size x, Size y) {
              // Identical values are equal even if they are unknown.
              return x == y ? e.size(1)
                            : onConstants(e, x, y, std::equal_to<int64_t>());
            })
      .Case("Less",
            [](Emitter &e, Size x, Size y) {
              return onConstants(e, x, y, std::less<int64_t>());
            })
      .Case("LessOrEqual",
            [](Emitter &e, Size x, Size y) {
              return onConstants(e, x, y, std::less_equal<int64_t>());
            })
      .Case("Greater",
            [](Emitter &e, Size x, Size y) {
              return onConstants(e, x, y, std::greater<int64_t>());
            })
      .Case("GreaterOrEqual",
            [](Emitter &e, Size x, Size y) {
              return onConstants(e, x, y, std::greater_equal<int64_t>());
            })
      .Case("And",
            [](Emitter &e, Size x, Size y) {
              return onConstants(e, x, y, std::logical_and<int64_t>());
            })
      .Case("Or",
            [](Emitter &e, Size x, Size y) {
              return onConstants(e, x, y, std::logical_or<int64_t>());
            })
      .Default(nullptr);
}

/// True if `element` can hold the value; others wrap around. Computed sizes are
/// int64.
static bool fits(Size value, Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  if (width == 64 || (width == 1 && getConstant(value)))
    return true;
  auto number = getConstant(value);
  return number && (element.isUnsignedInteger()
                        ? *number >= 0 && llvm::isUIntN(width, *number)
                        : llvm::isIntN(width, *number));
}

/// True if known values of this type compare like int64. Large uint64 values do
/// not.
static bool isOrdered(Type element) {
  return isa_and_nonnull<IntegerType>(element) &&
         !element.isUnsignedInteger(64);
}

/// Max and Min take any number of operands, others two.
static Ints foldBinary(NodeLowering &node, BinaryFn fn) {
  SmallVector<const ShapeValue *> operands;
  for (unsigned index = 0; index < node.getNumOperands(); ++index) {
    operands.push_back(node.getKnown(index));
    if (!operands.back() || !isOrdered(node.inElement(index)))
      return std::nullopt;
  }
  auto shape = broadcastKnown(operands);
  if (!shape || operands.empty())
    return std::nullopt;
  Type element = node.outElement();
  ShapeValue result{{}, *shape};
  bool isWhole = forEachIndex(*shape, [&](ArrayRef<int64_t> indices) {
    Size value;
    for (const ShapeValue *operand : operands) {
      Size next = operand->values[getPlace(indices, operand->shape)];
      value = operand == operands.front() && !value ? next
                                                    : fn(node.e, value, next);
      if (!value || !fits(value, element))
        return false;
    }
    result.values.push_back(value);
    return true;
  });
  return isWhole ? Ints(std::move(result)) : std::nullopt;
}

static Ints foldWhere(NodeLowering &node) {
  const ShapeValue *condition = node.getKnown(0), *x = node.getKnown(1),
                   *y = node.getKnown(2);
  auto shape = broadcastKnown({condition, x, y});
  if (!shape)
    return std::nullopt;
  ShapeValue result{{}, *shape};
  bool isWhole = forEachIndex(*shape, [&](ArrayRef<int64_t> indices) {
    auto at = [&](const ShapeValue *operand) {
      return operand->values[getPlace(indices, operand->shape)];
    };
    std::optional<int64_t> test = getConstant(at(condition));
    if (!test)
      return false;
    result.values.push_back(*test ? at(x) : at(y));
    return true;
  });
  return isWhole ? Ints(std::move(result)) : std::nullopt;
}

/// Cast between integers, Not, Abs, Neg: on each value.
static Ints foldUnary(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  Type to = node.outElement();
  if (!data || !isa_and_nonnull<IntegerType>(to))
    return std::nullopt;
  StringRef op = node.getOpType();
  unsigned width = to.getIntOrFloatBitWidth();
  ShapeValue result{{}, data->shape};
  for (Size value : data->values) {
    std::optional<int64_t> number = getConstant(value);
    if (op == "Cast" && width == 64) {
      result.values.push_back(value);
      continue;
    }
    if (!number)
      return std::nullopt;
    int64_t x = *number;
    if (op == "Not")
      x = !x;
    else if (op == "Neg" || (op == "Abs" && x < 0))
      x = static_cast<int64_t>(-static_cast<uint64_t>(x));
    else if (op == "Cast" && width == 1)
      x = x != 0;
    if (!fits(node.e.size(x), to))
      return std::nullopt;
    result.values.push_back(node.e.size(x));
  }
  return result;
}

/// The shape with sizes of one along `axes`.
static SmallVector<int64_t> collapse(ArrayRef<int64_t> shape,
                                     ArrayRef<int64_t> axes) {
  SmallVector<int64_t> result(shape);
  for (int64_t axis : axes)
    result[axis] = 1;
  return result;
}

/// ReduceSum, ReduceProd, ReduceMax and ReduceMin.
static Ints foldReduction(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  BinaryFn fn = getBinary(llvm::StringSwitch<StringRef>(node.getOpType())
                              .Case("ReduceSum", "Add")
                              .Case("ReduceProd", "Mul")
                              .Case("ReduceMax", "Max")
                              .Default("Min"));
  if (!data || data->values.empty() || !isOrdered(node.outElement()))
    return std::nullopt;
  int64_t rank = data->shape.size();
  auto axes = getKnownAxes(node, 1, rank);
  if (!axes)
    return std::nullopt;
  if (axes->empty()) {
    if (node.getFlag("noop_with_empty_axes"))
      return *data;
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  }
  ShapeValue result{{}, collapse(data->shape, *axes)};
  result.values.resize(*countKnown(result.shape));
  bool isWhole = forEachIndex(data->shape, [&](ArrayRef<int64_t> indices) {
    Size value = data->values[getPlace(indices, data->shape)];
    Size &total = result.values[getPlace(indices, result.shape)];
    total = total ? fn(node.e, total, value) : value;
    return total && fits(total, node.outElement());
  });
  if (!isWhole)
    return std::nullopt;
  if (!node.keepDims())
    for (int64_t axis : llvm::reverse(*axes))
      result.shape.erase(result.shape.begin() + axis);
  return result;
}

static FoldFn getFold(StringRef op) {
  if (FoldFn movement = findShapeMovement(op))
    return movement;
  return llvm::StringSwitch<FoldFn>(op)
      .Case("ConstantOfShape", foldConstantOfShape)
      .Case("Range", foldRange)
      .Case("NonZero", foldNonZero)
      .Case("Where", foldWhere)
      .Cases({"Cast", "Not", "Abs", "Neg"}, foldUnary)
      .Cases({"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"},
             foldReduction)
      .Default(nullptr);
}

static Ints foldInts(NodeLowering &node) {
  if (!isa_and_nonnull<IntegerType>(node.outElement()))
    return std::nullopt;
  StringRef op = node.getOpType();
  if (op == "Shape" || op == "Size")
    return foldShapeOp(node);
  if (foldsFloats(node))
    return std::nullopt;
  if (BinaryFn binary = getBinary(op))
    return foldBinary(node, binary);
  FoldFn fold = getFold(op);
  return fold ? fold(node) : std::nullopt;
}

bool foldShape(NodeLowering &node) {
  if (!onnxir::getDomain(node.getNode()).empty() ||
      !node.getNode()->getNumResults())
    return false;
  if (node.getOpType() == "Split")
    return foldKnownSplit(node);
  if (node.getNode()->getNumResults() != 1)
    return false;
  Ints result = foldInts(node);
  if (!result && foldsFloats(node))
    result = foldKnownFloats(node);
  if (!result || int64_t(result->values.size()) > maxShapeElements)
    return false;
  node.setKnown(0, std::move(*result));
  return true;
}

} // namespace mp
