//===- WholeNumbers.cpp - Values that are whole numbers -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SensitivityContext.h"
#include "SmallConstants.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// A constant with more elements is a weight.
static constexpr int64_t maxTable = 1 << 14;

static bool isWhole(ArrayRef<float> elements) {
  return llvm::all_of(elements, [](float element) {
    return std::floor(element) == element && std::isfinite(element);
  });
}

bool WholeNumbers::isTable(Value value) const {
  auto elements = getFloatElements(value, maxTable);
  return elements && elements->size() > 1 && mp::isWhole(*elements) &&
         llvm::any_of(*elements, [&](float element) {
           // Zeros, ones and signs only select and add.
           return std::fabs(element) > 1;
         });
}

bool WholeNumbers::isWholeOperand(Value value) {
  if (values.contains(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !isConstant(op) || !isF32Tensor(value.getType()))
    return false;
  auto elements = getFloatElements(value, maxTable);
  if (!elements || !mp::isWhole(*elements))
    return false;
  values.insert(value);
  return true;
}

/// True for sums, products and choices of whole numbers, and for rounding.
bool WholeNumbers::isWhole(Operation *node, OperatorTraitsCache &kinds) {
  const OperatorTraits &traits = kinds.lookup(node);
  if (traits.math == OperatorMath::Whole)
    return true;
  if (traits.math == OperatorMath::Cast &&
      !isF32Tensor(node->getOperand(0).getType()))
    return true;
  bool keeps = traits.has(Exact) || traits.movesData() || traits.contracts();
  switch (traits.math) {
  case OperatorMath::Add:
  case OperatorMath::Sub:
  case OperatorMath::Mul:
  case OperatorMath::Sum:
  case OperatorMath::SumAbs:
  case OperatorMath::SumSquare:
  case OperatorMath::Product:
  case OperatorMath::Cast:
    keeps = true;
    break;
  default:
    break;
  }
  bool hasFloat = false;
  for (Value operand : node->getOperands()) {
    if (!isF32Tensor(operand.getType()))
      continue;
    // Operands are checked, which is costly, only if the node may keep whole
    // numbers whole.
    hasFloat = true;
    keeps = keeps && isWholeOperand(operand);
  }
  return keeps && hasFloat;
}

WholeNumbers::WholeNumbers(const ValueFlow &flow, OperatorTraitsCache &kinds) {
  for (Operation *op : flow.getOps())
    if (isNode(op) && op->getNumOperands() && !op->getNumRegions() &&
        isF32Tensor(op->getResult(0).getType()) && isWhole(op, kinds))
      for (Value result : op->getResults())
        values.insert(result);
}

} // namespace mp
