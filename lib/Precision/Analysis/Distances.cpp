//===- Distances.cpp - Squared distances by products ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// |x - c|^2 = |x|^2 - 2 x c + |c|^2 has terms of the size of the squares, while
// their sum is as small as the distance. It comes in two forms:
//
//  - a sum that has a scaled product of x and c as one term, and the square
//    of x or c, or a sum of squares, as another one;
//  - a product of rows [-2 x, |x|^2, 1] and [c, 1, |c|^2], as torch.cdist
//    writes it: an operand is a Concat that has squares among its parts.
//
// The search goes forward from each product, and backward from other terms.
//
//===----------------------------------------------------------------------===//

#include "SensitivityContext.h"
#include "SmallConstants.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

class DistanceFinder {
public:
  DistanceFinder(SensitivityContext &context, SensitiveWalk &walk)
      : context(context), walk(walk) {}

  void visit(Operation *product);

private:
  Operation *skip(Value value) const;
  Value getRoot(Value value) const;
  Value getSquared(Value value) const;
  bool hasSquare(Value sum, ArrayRef<Value> roots) const;
  bool isScaling(Operation *op, Value value) const;
  void visitUsers(Operation *product);
  void visitSides(Operation *product);
  void add(Operation *product, Operation *sum);

  SensitivityContext &context;
  SensitiveWalk &walk;
};

} // namespace

/// Limits for steps to look through, terms of a sum, and uses to follow.
static constexpr unsigned maxSteps = 8, maxUses = 64;

static bool isSum(OperatorMath math) {
  return math == OperatorMath::Add || math == OperatorMath::Sub;
}

/// The node that makes the value, before data movement and casts; null for
/// other values.
Operation *DistanceFinder::skip(Value value) const {
  for (unsigned count = 0; count < maxSteps; ++count) {
    Operation *op = value.getDefiningOp();
    if (!op || !isNode(op) || op->getNumOperands() == 0)
      return nullptr;
    if (context.getTraits(op).kind != OperatorKind::Movement &&
        context.getMath(op) != OperatorMath::Cast)
      return op;
    value = op->getOperand(0);
  }
  return nullptr;
}

/// The value before data movement and factors that are constants.
Value DistanceFinder::getRoot(Value value) const {
  for (unsigned count = 0; count < maxSteps; ++count) {
    Operation *op = value.getDefiningOp();
    if (!op || !isNode(op) || op->getNumOperands() == 0)
      break;
    OperatorMath math = context.getMath(op);
    if (context.getTraits(op).kind == OperatorKind::Movement ||
        math == OperatorMath::Cast || math == OperatorMath::Neg) {
      value = op->getOperand(0);
    } else if (math == OperatorMath::Mul || math == OperatorMath::Div) {
      if (context.isConstantValue(op->getOperand(1)))
        value = op->getOperand(0);
      else if (math == OperatorMath::Mul &&
               context.isConstantValue(op->getOperand(0)))
        value = op->getOperand(1);
      else
        break;
    } else {
      break;
    }
  }
  return value;
}

/// x of x^2, or of a sum of such squares; null for other values.
Value DistanceFinder::getSquared(Value value) const {
  Operation *op = skip(value);
  if (!op)
    return {};
  OperatorMath math = context.getMath(op);
  if (math == OperatorMath::SumSquare)
    return getRoot(op->getOperand(0));
  if (math == OperatorMath::Sum && context.getTraits(op).reduces())
    op = skip(op->getOperand(0));
  if (!op || op->getNumOperands() != 2)
    return {};
  math = context.getMath(op);
  Value x = op->getOperand(0);
  bool isSquare =
      (math == OperatorMath::Mul && x == op->getOperand(1)) ||
      (math == OperatorMath::Pow && getUniformConstant(op->getOperand(1)) == 2);
  return isSquare ? getRoot(x) : Value();
}

/// True if one of the terms of `sum` is the square of a root.
bool DistanceFinder::hasSquare(Value sum, ArrayRef<Value> roots) const {
  SmallVector<Value> worklist = {sum};
  for (unsigned count = 0; !worklist.empty() && count < maxSteps; ++count) {
    Value term = worklist.pop_back_val();
    if (Value squared = getSquared(term);
        squared && llvm::is_contained(roots, squared))
      return true;
    if (Operation *op = skip(term); op && isSum(context.getMath(op)))
      llvm::append_range(worklist, op->getOperands());
  }
  return false;
}

/// True for a constant factor, a sign, a value added to itself, and data
/// movement.
bool DistanceFinder::isScaling(Operation *op, Value value) const {
  OperatorMath math = context.getMath(op);
  if (context.getTraits(op).kind == OperatorKind::Movement ||
      math == OperatorMath::Neg || math == OperatorMath::Cast)
    return true;
  if (op->getNumOperands() != 2)
    return false;
  Value left = op->getOperand(0), right = op->getOperand(1);
  return (math == OperatorMath::Add && left == right) ||
         (math == OperatorMath::Mul &&
          context.isConstantValue(left == value ? right : left));
}

void DistanceFinder::add(Operation *product, Operation *sum) {
  std::string reason = "part of the squared distance of " + describe(sum) +
                       ", whose terms cancel";
  context.found.hazards.add(product, reason);
  // Backward from the last sum: all terms, and the values they are made of.
  Value last = sum->getResult(0);
  for (unsigned count = 0; count < maxSteps && last.hasOneUse(); ++count) {
    Operation *user = *last.user_begin();
    if (!isNode(user) || !isSum(context.getMath(user)))
      break;
    last = user->getResult(0);
  }
  walk.add(last, SensitiveReader::Position, reason, /*takesProducts=*/false);
  for (Value operand : product->getOperands())
    walk.add(operand, SensitiveReader::Position, reason,
             /*takesProducts=*/false);
}

/// Follows the scaled product into sums.
void DistanceFinder::visitUsers(Operation *product) {
  Value roots[] = {getRoot(product->getOperand(0)),
                   getRoot(product->getOperand(1))};
  SmallVector<Value> worklist = {product->getResult(0)};
  unsigned count = 0;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      if (++count > maxUses)
        return;
      Operation *user = use.getOwner();
      if (!isNode(user) || user->getNumResults() == 0)
        continue;
      if (isScaling(user, value)) {
        worklist.push_back(user->getResult(0));
        continue;
      }
      if (!isSum(context.getMath(user)) || user->getNumOperands() != 2)
        continue;
      Value other = user->getOperand(1 - use.getOperandNumber());
      if (hasSquare(other, roots))
        return add(product, user);
      // A further term, e.g. a c^2 that was computed before.
      if (context.isConstantValue(other))
        worklist.push_back(user->getResult(0));
    }
  }
}

/// [-2 x, |x|^2, 1] as an operand.
void DistanceFinder::visitSides(Operation *product) {
  for (Value operand : product->getOperands()) {
    Operation *concat = skip(operand);
    if (!concat || context.getTraits(concat).kind != OperatorKind::Combination)
      continue;
    for (Value part : concat->getOperands())
      if (getSquared(part))
        return add(product, product);
  }
}

void DistanceFinder::visit(Operation *product) {
  visitUsers(product);
  visitSides(product);
}

void findDistances(SensitivityContext &context, SensitiveWalk &walk) {
  DistanceFinder finder(context, walk);
  for (Operation *op : context.flow.getOps())
    if (isNode(op) && context.getTraits(op).contracts() &&
        op->getNumOperands() >= 2 && isF32Tensor(op->getResult(0).getType()))
      finder.visit(op);
}

} // namespace mp
