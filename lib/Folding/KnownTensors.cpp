//===- KnownTensors.cpp - Integers that a model computes ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldRules.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

bool KnownTensor::isComplete() const {
  return llvm::all_of(elements, [](const Element &e) { return e.has_value(); });
}

KnownTensor::Element KnownTensor::getSingle() const {
  return elements.size() == 1 ? elements.front() : std::nullopt;
}

DenseElementsAttr KnownTensor::toAttr(Type elementType) const {
  SmallVector<APInt> values;
  for (const Element &element : elements)
    values.emplace_back(elementType.getIntOrFloatBitWidth(), uint64_t(*element),
                        /*isSigned=*/true, /*implicitTrunc=*/true);
  return DenseElementsAttr::get(RankedTensorType::get(shape, elementType),
                                values);
}

std::optional<SmallVector<int64_t>> FoldedNode::ints(unsigned index) const {
  const KnownTensor *tensor = in(index);
  if (!tensor || !tensor->isComplete())
    return std::nullopt;
  return llvm::map_to_vector(tensor->elements,
                             [](const KnownTensor::Element &e) { return *e; });
}

std::optional<int64_t> countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 0 || size > maxKnownElements)
      return std::nullopt;
    count *= size;
    if (count > maxKnownElements)
      return std::nullopt;
  }
  return count;
}

const KnownTensor *KnownTensors::lookup(Value value) const {
  for (const KnownTensors *scope = this; scope; scope = scope->outer)
    if (auto it = scope->tensors.find(value); it != scope->tensors.end())
      return &it->second;
  return nullptr;
}

void KnownTensors::forget(Operation *op) {
  for (Value result : op->getResults())
    tensors.erase(result);
}

/// The element if the type `to` can hold it; absent otherwise.
static KnownTensor::Element fit(KnownTensor::Element element, IntegerType to) {
  unsigned width = to.getWidth();
  if (!element || (width == 64 && !to.isUnsigned()))
    return element;
  bool isUnsigned = to.isUnsigned() || width == 1;
  bool fits = isUnsigned
                  ? *element >= 0 && (width == 64 || uint64_t(*element) <=
                                                         llvm::maxUIntN(width))
                  : llvm::isIntN(width, *element);
  return fits ? element : std::nullopt;
}

/// Reads an initializer that nothing overrides, or a Constant.
static Folded readConstant(Operation *op, IntegerType type) {
  if (auto initializer = dyn_cast<InitializerOp>(op);
      initializer && initializer.getOverridable())
    return std::nullopt;
  auto tensor = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!tensor || !tensor.hasStaticShape() || !countElements(tensor.getShape()))
    return std::nullopt;
  auto values = getConstantInts(op->getResult(0));
  if (!values || int64_t(values->size()) != tensor.getNumElements())
    return std::nullopt;
  KnownTensor known{SmallVector<int64_t>(tensor.getShape()), {}};
  // The values were read as signed, but not all types are.
  uint64_t mask = llvm::maskTrailingOnes<uint64_t>(type.getWidth());
  for (int64_t value : *values)
    known.elements.push_back(type.isUnsigned() || type.getWidth() == 1
                                 ? int64_t(uint64_t(value) & mask)
                                 : value);
  return known;
}

void KnownTensors::visit(Operation *op) {
  if (op->getNumResults() == 0 || op->getNumRegions())
    return;
  auto type = dyn_cast_or_null<IntegerType>(
      getTensorElementType(op->getResult(0).getType()));
  if (!type)
    return;
  if (op->getNumOperands() == 0) {
    if (Folded constant = readConstant(op, type))
      tensors[op->getResult(0)] = std::move(*constant);
    return;
  }
  if (op->getNumResults() != 1 || !isNode(op) || getDomain(op) != "")
    return;
  // Constants may be anywhere before the node.
  for (Value operand : op->getOperands())
    if (Operation *definer = operand.getDefiningOp();
        definer && !definer->getNumOperands() && !lookup(operand))
      visit(definer);
  FoldRule rule = findArithmeticFold(getOpType(op));
  if (!rule)
    rule = findMovementFold(getOpType(op));
  Folded folded = rule ? rule(FoldedNode(*this, op)) : std::nullopt;
  if (!folded)
    return;
  for (KnownTensor::Element &element : folded->elements)
    element = fit(element, type);
  tensors[op->getResult(0)] = std::move(*folded);
}

} // namespace mp
