//===- ArithmeticFolds.cpp - Arithmetic on known integers -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results that overflow, or that implementations round in different ways, stay
// unknown.
//
//===----------------------------------------------------------------------===//

#include "FoldRules.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

using Element = KnownTensor::Element;
using BinaryFn = Element (*)(int64_t, int64_t);
using UnaryFn = Element (*)(int64_t);

//===----------------------------------------------------------------------===//
// Broadcasting
//===----------------------------------------------------------------------===//

/// The common shape of the operands; absent if they do not fit.
static std::optional<SmallVector<int64_t>>
getCommonShape(ArrayRef<const KnownTensor *> operands) {
  SmallVector<int64_t> shape;
  for (const KnownTensor *operand : operands) {
    size_t rank = operand->shape.size();
    if (rank > shape.size())
      shape.insert(shape.begin(), rank - shape.size(), 1);
    for (size_t axis = 0; axis < rank; ++axis) {
      int64_t &size = shape[shape.size() - rank + axis];
      int64_t other = operand->shape[axis];
      if (size != other && size != 1 && other != 1)
        return std::nullopt;
      size = size == 1 ? other : size;
    }
  }
  return countElements(shape) ? std::optional(shape) : std::nullopt;
}

Folded broadcast(const KnownTensor &tensor, ArrayRef<int64_t> shape) {
  size_t rank = tensor.shape.size(), outer = shape.size() - rank;
  auto count = countElements(shape);
  if (rank > shape.size() || !count)
    return std::nullopt;
  for (size_t axis = 0; axis < rank; ++axis)
    if (tensor.shape[axis] != 1 && tensor.shape[axis] != shape[outer + axis])
      return std::nullopt;
  KnownTensor result{SmallVector<int64_t>(shape), {}};
  for (int64_t index = 0; index < *count; ++index) {
    int64_t rest = index, from = 0, stride = 1;
    for (size_t axis = shape.size(); axis-- > outer;) {
      int64_t size = tensor.shape[axis - outer];
      from += size == 1 ? 0 : rest % shape[axis] * stride;
      stride *= size;
      rest /= shape[axis];
    }
    result.elements.push_back(tensor.elements[from]);
  }
  return result;
}

/// Broadcasts all operands to their common shape; empty if one is unknown.
static SmallVector<KnownTensor> alignOperands(const FoldedNode &node) {
  SmallVector<const KnownTensor *> operands;
  for (unsigned index = 0; index < node.getNumOperands(); ++index) {
    operands.push_back(node.in(index));
    if (!operands.back())
      return {};
  }
  auto shape = getCommonShape(operands);
  SmallVector<KnownTensor> aligned;
  for (const KnownTensor *operand : operands) {
    Folded wide = shape ? broadcast(*operand, *shape) : std::nullopt;
    if (!wide)
      return {};
    aligned.push_back(std::move(*wide));
  }
  return aligned;
}

//===----------------------------------------------------------------------===//
// Operators with two or more operands
//===----------------------------------------------------------------------===//

static Element add(int64_t a, int64_t b) {
  int64_t sum;
  return llvm::AddOverflow(a, b, sum) ? Element() : sum;
}

static Element sub(int64_t a, int64_t b) {
  int64_t difference;
  return llvm::SubOverflow(a, b, difference) ? Element() : difference;
}

static Element mul(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? Element() : product;
}

static BinaryFn findBinary(StringRef op) {
  return llvm::StringSwitch<BinaryFn>(op)
      .Case("Add", add)
      .Case("Sub", sub)
      .Case("Mul", mul)
      // Runtimes round quotients of negative numbers in different ways.
      .Case("Div",
            [](int64_t a, int64_t b) {
              return a >= 0 && b > 0 ? Element(a / b) : Element();
            })
      .Case("Mod",
            [](int64_t a, int64_t b) {
              return a >= 0 && b > 0 ? Element(a % b) : Element();
            })
      .Case("Max", [](int64_t a, int64_t b) { return Element(std::max(a, b)); })
      .Case("Min", [](int64_t a, int64_t b) { return Element(std::min(a, b)); })
      .Case("Equal", [](int64_t a, int64_t b) { return Element(a == b); })
      .Case("Less", [](int64_t a, int64_t b) { return Element(a < b); })
      .Case("LessOrEqual", [](int64_t a, int64_t b) { return Element(a <= b); })
      .Case("Greater", [](int64_t a, int64_t b) { return Element(a > b); })
      .Case("GreaterOrEqual",
            [](int64_t a, int64_t b) { return Element(a >= b); })
      .Case("And", [](int64_t a, int64_t b) { return Element(a && b); })
      .Case("Or", [](int64_t a, int64_t b) { return Element(a || b); })
      .Case("Xor", [](int64_t a, int64_t b) { return Element(!a != !b); })
      .Default(nullptr);
}

static Folded foldBinary(const FoldedNode &node) {
  SmallVector<KnownTensor> operands = alignOperands(node);
  if (operands.empty())
    return std::nullopt;
  BinaryFn fn = findBinary(node.getOpType());
  KnownTensor result = operands.front();
  for (const KnownTensor &operand : ArrayRef(operands).drop_front())
    for (auto [a, b] : llvm::zip(result.elements, operand.elements))
      a = a && b ? fn(*a, *b) : std::nullopt;
  return result;
}

static Folded foldWhere(const FoldedNode &node) {
  SmallVector<KnownTensor> operands = alignOperands(node);
  if (operands.size() != 3)
    return std::nullopt;
  KnownTensor result = operands[0];
  for (auto [element, yes, no] :
       llvm::zip(result.elements, operands[1].elements, operands[2].elements))
    element = !element ? std::nullopt : *element ? yes : no;
  return result;
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

static UnaryFn findUnary(StringRef op) {
  return llvm::StringSwitch<UnaryFn>(op)
      .Case("Not", [](int64_t a) { return Element(!a); })
      .Case("Neg", [](int64_t a) { return sub(0, a); })
      .Case("Abs", [](int64_t a) { return a < 0 ? sub(0, a) : Element(a); })
      .Case("Sign", [](int64_t a) { return Element((a > 0) - (a < 0)); })
      .Default(nullptr);
}

static Folded foldUnary(const FoldedNode &node) {
  const KnownTensor *operand = node.in(0);
  UnaryFn fn = findUnary(node.getOpType());
  if (!operand)
    return std::nullopt;
  KnownTensor result = *operand;
  for (Element &element : result.elements)
    element = element ? fn(*element) : std::nullopt;
  return result;
}

/// A cast between integers and booleans; elements that do not fit become
/// unknown.
static Folded foldCast(const FoldedNode &node) {
  const KnownTensor *operand = node.in(0);
  if (!operand)
    return std::nullopt;
  KnownTensor result = *operand;
  if (getTensorElementType(node.outType()).isInteger(1))
    for (Element &element : result.elements)
      element = element ? Element(*element != 0) : std::nullopt;
  return result;
}

/// A reduction over all elements.
static Folded foldReduction(const FoldedNode &node) {
  const KnownTensor *operand = node.in(0);
  if (!operand || operand->elements.empty())
    return std::nullopt;
  bool coversAll = operand->shape.size() <= 1;
  if (!coversAll && (node.has(1) || node.states("axes")))
    return std::nullopt;
  if (operand->shape.size() == 1 && !node.has(1) &&
      node.getFlag("noop_with_empty_axes"))
    return std::nullopt;
  BinaryFn fn = llvm::StringSwitch<BinaryFn>(node.getOpType())
                    .Case("ReduceSum", add)
                    .Case("ReduceProd", mul)
                    .Case("ReduceMax", findBinary("Max"))
                    .Default(findBinary("Min"));
  Element total = operand->elements.front();
  for (Element element : ArrayRef(operand->elements).drop_front())
    total = total && element ? fn(*total, *element) : std::nullopt;
  bool keeps = node.keepDims();
  return KnownTensor{SmallVector<int64_t>(keeps ? operand->shape.size() : 0, 1),
                     {total}};
}

FoldRule findArithmeticFold(StringRef op) {
  if (findBinary(op))
    return foldBinary;
  if (findUnary(op))
    return foldUnary;
  return llvm::StringSwitch<FoldRule>(op)
      .Case("Where", foldWhere)
      .Cases({"Cast", "CastLike"}, foldCast)
      .Cases({"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"},
             foldReduction)
      .Default(nullptr);
}

} // namespace mp
