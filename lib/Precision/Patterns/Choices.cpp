//===- Choices.cpp - Comparisons with chosen elements ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Patterns/Choices.h"

#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Limit for the nodes that move one value on its way to a comparison.
static constexpr unsigned maxMovements = 8;

static bool compares(Operation *op, ChoiceKind kind) {
  if (kind == ChoiceKind::EqualityOrDifference && isStandardOp(op, "Sub"))
    return true;
  return isStandardOp(op, "Equal") || isStandardOp(op, "GreaterOrEqual") ||
         isStandardOp(op, "LessOrEqual");
}

/// True if the op yields elements of its first operand.
static bool isMovement(Operation *op) {
  return getOperatorTraits(op).movesData();
}

/// True if the op yields its first operand within fixed bounds.
static bool isBound(Operation *op) {
  const OperatorTraits &traits = getOperatorTraits(op);
  if (!traits.isElementwise() ||
      (traits.math != OperatorMath::Max && traits.math != OperatorMath::Min))
    return false;
  return llvm::all_of(op->getOperands().drop_front(), [](Value operand) {
    Operation *definer = operand.getDefiningOp();
    return definer && isConstant(definer);
  });
}

/// `value` and the values that it was moved from, the nearest first.
static SmallVector<Value, 2> getSources(Value value) {
  SmallVector<Value, 2> sources{value};
  for (unsigned step = 0; step < maxMovements; ++step) {
    Operation *op = value.getDefiningOp();
    if (!op || !isNode(op) || !op->getNumOperands() ||
        !(isMovement(op) || isBound(op)))
      break;
    value = op->getOperand(0);
    sources.push_back(value);
  }
  return sources;
}

/// The choice, if a node computed `result` from `operand`.
static std::optional<Choice> findChoice(Operation *comparison, Value operand,
                                        Value result) {
  SmallVector<Value, 2> operands = getSources(operand);
  SmallVector<Value, 2> results = getSources(result);
  for (auto [index, value] : llvm::enumerate(results)) {
    auto chosen = dyn_cast<OpResult>(value);
    if (!chosen || !isNode(chosen.getOwner()) || isMovement(chosen.getOwner()))
      continue;
    for (auto [distance, source] : llvm::enumerate(operands)) {
      if (!llvm::is_contained(chosen.getOwner()->getOperands(), source))
        continue;
      Choice choice{comparison, chosen, {}};
      for (Value moved : ArrayRef(results).take_front(index))
        choice.movements.push_back(moved.getDefiningOp());
      for (Value moved : ArrayRef(operands).take_front(distance))
        choice.movements.push_back(moved.getDefiningOp());
      return choice;
    }
  }
  return std::nullopt;
}

std::vector<Choice> findChoices(Operation *scope, ChoiceKind kind) {
  std::vector<Choice> choices;
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isNode(op) || !compares(op, kind) || op->getNumOperands() != 2 ||
        !isFloatTensor(op->getOperand(0).getType()))
      return;
    Value a = op->getOperand(0), b = op->getOperand(1);
    for (auto [operand, result] : {std::pair(a, b), std::pair(b, a)})
      if (auto choice = findChoice(op, operand, result))
        choices.push_back(std::move(*choice));
  });
  return choices;
}

} // namespace mp
