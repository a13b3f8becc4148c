//===- KnownInts.cpp - Shapes are computed while compiling ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters compute shapes by nodes: Shape -> Gather -> Concat -> Reshape, and
// backward passes the axes of broadcasts. On sizes this is done here, exactly
// as the nodes would do it; whatever a function below cannot tell is left to
// the rules.
//
//===----------------------------------------------------------------------===//

#include "NodeLowering.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace mp {

using Ints = std::optional<KnownInts>;

static std::optional<int64_t> getConstant(Size size) {
  return Emitter::getConstant(size);
}

static int64_t getCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

//===----------------------------------------------------------------------===//
// Sizes of tensors
//===----------------------------------------------------------------------===//

static Ints foldShape(NodeLowering &node) {
  Sizes sizes;
  if (const KnownInts *known = node.getKnown(0)) {
    for (int64_t extent : known->shape)
      sizes.push_back(node.e.size(extent));
  } else {
    TensorValue tensor = node.in(0);
    if (!tensor)
      return std::nullopt;
    sizes = node.e.sizes(tensor);
  }
  if (node.getOpType() == "Size")
    return KnownInts{{node.e.product(sizes)}, {}};
  int64_t rank = sizes.size();
  auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  int64_t start = clamp(getInt(node.getNode(), "start", 0));
  int64_t end = clamp(getInt(node.getNode(), "end", rank));
  Sizes part(sizes.begin() + start, sizes.begin() + std::max(start, end));
  int64_t count = part.size();
  return KnownInts{std::move(part), {count}};
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

static Ints foldGather(NodeLowering &node) {
  const KnownInts *data = node.getKnown(0), *indices = node.getKnown(1);
  if (!data || !indices || data->shape.size() != 1 ||
      getInt(node.getNode(), "axis", 0) > 0)
    return std::nullopt;
  KnownInts result{{}, indices->shape};
  int64_t count = data->values.size();
  for (Size index : indices->values) {
    std::optional<int64_t> position = getConstant(index);
    if (!position || *position < -count || *position >= count)
      return std::nullopt;
    result.values.push_back(
        data->values[*position < 0 ? *position + count : *position]);
  }
  return result;
}

static Ints foldConcat(NodeLowering &node) {
  KnownInts result{{}, {0}};
  for (unsigned index = 0; index < node.getNumOperands(); ++index) {
    const KnownInts *part = node.getKnown(index);
    if (!part || part->shape.size() != 1)
      return std::nullopt;
    llvm::append_range(result.values, part->values);
  }
  result.shape[0] = result.values.size();
  return result;
}

static Ints foldSlice(NodeLowering &node) {
  const KnownInts *data = node.getKnown(0);
  if (!data || data->shape.size() != 1 || node.getVersion() < 10)
    return std::nullopt;
  auto get = [&](unsigned index, int64_t byDefault) -> std::optional<int64_t> {
    if (!node.has(index))
      return byDefault;
    auto list = node.constantInts(index);
    if (!list || list->size() != 1)
      return std::nullopt;
    return list->front();
  };
  auto start = get(1, 0), end = get(2, 0), step = get(4, 1);
  if (!start || !end || !step || *step == 0)
    return std::nullopt;
  int64_t count = data->values.size();
  auto clamp = [&](int64_t position, int64_t low, int64_t high) {
    return std::clamp(position < 0 ? position + count : position, low, high);
  };
  bool isForward = *step > 0;
  int64_t begin = clamp(*start, 0, isForward ? count : count - 1);
  int64_t stop = clamp(*end, isForward ? 0 : -1, isForward ? count : count - 1);
  KnownInts result{{}, {0}};
  for (int64_t i = begin; isForward ? i < stop : i > stop; i += *step)
    result.values.push_back(data->values[i]);
  result.shape[0] = result.values.size();
  return result;
}

/// Reshape, Squeeze, Unsqueeze, Flatten: the same values in another shape,
/// which the declared type tells or is a vector or scalar of all.
static Ints foldReshape(NodeLowering &node) {
  const KnownInts *data = node.getKnown(0);
  if (!data)
    return std::nullopt;
  auto declared =
      dyn_cast<RankedTensorType>(node.getNode()->getResult(0).getType());
  if (!declared || (!declared.hasStaticShape() && declared.getRank() > 1))
    return std::nullopt;
  SmallVector<int64_t> shape(declared.getShape());
  int64_t count = data->values.size();
  if (!declared.hasStaticShape())
    shape = {count};
  if (getCount(shape) != count)
    return std::nullopt;
  return KnownInts{data->values, shape};
}

static Ints foldExpand(NodeLowering &node) {
  const KnownInts *data = node.getKnown(0);
  auto shape = node.constantInts(1);
  if (!data || !shape || data->values.size() != 1 || shape->size() > 1 ||
      (shape->size() == 1 && (shape->front() < 0 || shape->front() > 64)))
    return std::nullopt;
  if (!data->shape.empty() && shape->empty())
    shape->push_back(1);
  if (!data->shape.empty() && shape->front() == 0)
    return KnownInts{{}, {0}};
  return KnownInts{Sizes(getCount(*shape), data->values[0]), *shape};
}

static Ints foldConstantOfShape(NodeLowering &node) {
  auto shape = node.constantInts(0);
  if (!shape || shape->size() > 1 || llvm::any_of(*shape, [](int64_t extent) {
        return extent < 0 || extent > 64;
      }))
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
  return KnownInts{Sizes(getCount(*shape), node.e.size(value)), *shape};
}

static Ints foldRange(NodeLowering &node) {
  auto start = node.constantInts(0), limit = node.constantInts(1),
       delta = node.constantInts(2);
  if (!start || !limit || !delta || delta->front() == 0)
    return std::nullopt;
  KnownInts result{{}, {0}};
  for (int64_t i = start->front();
       delta->front() > 0 ? i < limit->front() : i > limit->front();
       i += delta->front()) {
    result.values.push_back(node.e.size(i));
    if (result.values.size() > 64)
      return std::nullopt;
  }
  result.shape[0] = result.values.size();
  return result;
}

static Ints foldNonZero(NodeLowering &node) {
  const KnownInts *data = node.getKnown(0);
  auto list = node.constantInts(0);
  if (!data || !list || data->shape.size() != 1)
    return std::nullopt;
  KnownInts result{{}, {1, 0}};
  for (auto [position, value] : llvm::enumerate(*list))
    if (value)
      result.values.push_back(node.e.size(position));
  result.shape[1] = result.values.size();
  return result;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

using BinaryFn = Size (*)(Emitter &, Size, Size);

/// On constants only: what gives a truth value, or has no simple form.
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
              auto divisor = getConstant(y);
              if (divisor && *divisor > 0)
                return e.floorDiv(x, y);
              return Size();
            })
      .Case("Equal",
            [](Emitter &e, Size x, Size y) {
              return onConstants(e, x, y, std::equal_to<int64_t>());
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

/// The values as those of a vector of `count`.
static std::optional<Sizes> spread(const KnownInts &ints, int64_t count) {
  int64_t have = ints.values.size();
  if (have == count)
    return ints.values;
  if (have == 1)
    return Sizes(count, ints.values[0]);
  return std::nullopt;
}

/// The shape of what the operands give together; of at most one dimension.
static std::optional<SmallVector<int64_t>>
getCommonShape(ArrayRef<const KnownInts *> operands) {
  SmallVector<int64_t> shape;
  for (const KnownInts *operand : operands) {
    if (!operand || operand->shape.size() > 1)
      return std::nullopt;
    if (operand->shape.empty())
      continue;
    if (shape.empty() || shape[0] == 1)
      shape = operand->shape;
  }
  return shape;
}

static Ints foldBinary(NodeLowering &node, BinaryFn fn) {
  if (node.getNumOperands() != 2)
    return std::nullopt;
  const KnownInts *x = node.getKnown(0), *y = node.getKnown(1);
  auto shape = getCommonShape({x, y});
  if (!shape)
    return std::nullopt;
  auto left = spread(*x, getCount(*shape)),
       right = spread(*y, getCount(*shape));
  if (!left || !right)
    return std::nullopt;
  KnownInts result{{}, *shape};
  for (auto [a, b] : llvm::zip(*left, *right)) {
    Size value = fn(node.e, a, b);
    if (!value)
      return std::nullopt;
    result.values.push_back(value);
  }
  return result;
}

static Ints foldWhere(NodeLowering &node) {
  const KnownInts *condition = node.getKnown(0), *x = node.getKnown(1),
                  *y = node.getKnown(2);
  auto shape = getCommonShape({condition, x, y});
  if (!shape)
    return std::nullopt;
  int64_t count = getCount(*shape);
  auto tests = spread(*condition, count), left = spread(*x, count),
       right = spread(*y, count);
  if (!tests || !left || !right)
    return std::nullopt;
  KnownInts result{{}, *shape};
  for (int64_t i = 0; i < count; ++i) {
    std::optional<int64_t> test = getConstant((*tests)[i]);
    if (!test)
      return std::nullopt;
    result.values.push_back(*test ? (*left)[i] : (*right)[i]);
  }
  return result;
}

/// Cast between integers, Not, Abs, Neg: on each value.
static Ints foldUnary(NodeLowering &node) {
  const KnownInts *data = node.getKnown(0);
  Type to = node.outElement();
  if (!data || !isa_and_nonnull<IntegerType>(to))
    return std::nullopt;
  StringRef op = node.getOpType();
  unsigned width = to.getIntOrFloatBitWidth();
  KnownInts result{{}, data->shape};
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
    else if (op == "Cast" && (x > llvm::maxIntN(width) || x < 0))
      return std::nullopt;
    result.values.push_back(node.e.size(x));
  }
  return result;
}

/// ReduceSum and ReduceProd of all values.
static Ints foldReduction(NodeLowering &node) {
  const KnownInts *data = node.getKnown(0);
  if (!data || data->shape.size() != 1)
    return std::nullopt;
  bool isProduct = node.getOpType() == "ReduceProd";
  Emitter &e = node.e;
  Size total = e.size(isProduct ? 1 : 0);
  for (Size value : data->values)
    total = isProduct ? e.mul(total, value) : e.add(total, value);
  SmallVector<int64_t> shape;
  if (getInt(node.getNode(), "keepdims", 1))
    shape.push_back(1);
  return KnownInts{{total}, shape};
}

using FoldFn = Ints (*)(NodeLowering &);

static FoldFn getFold(StringRef op) {
  return llvm::StringSwitch<FoldFn>(op)
      .Cases({"Shape", "Size"}, foldShape)
      .Case("Gather", foldGather)
      .Case("Concat", foldConcat)
      .Case("Slice", foldSlice)
      .Cases({"Reshape", "Squeeze", "Unsqueeze", "Identity"}, foldReshape)
      .Case("Expand", foldExpand)
      .Case("ConstantOfShape", foldConstantOfShape)
      .Case("Range", foldRange)
      .Case("NonZero", foldNonZero)
      .Case("Where", foldWhere)
      .Cases({"Cast", "Not", "Abs", "Neg"}, foldUnary)
      .Cases({"ReduceSum", "ReduceProd"}, foldReduction)
      .Default(nullptr);
}

bool foldKnownInts(NodeLowering &node) {
  Type element =
      node.getNode()->getNumResults() == 1 ? node.outElement() : Type();
  if (!isa_and_nonnull<IntegerType>(element) ||
      !onnxir::getDomain(node.getNode()).empty())
    return false;
  StringRef op = node.getOpType();
  Ints result;
  // Wraps around as int64 only: narrower results are left to the rules.
  BinaryFn binary = getBinary(op);
  if (binary && (element.isInteger(64) || element.isInteger(1)))
    result = foldBinary(node, binary);
  else if (FoldFn fold = getFold(op))
    result = fold(node);
  if (!result || result->values.size() > 64)
    return false;
  node.setKnown(0, std::move(*result));
  return true;
}

} // namespace mp
