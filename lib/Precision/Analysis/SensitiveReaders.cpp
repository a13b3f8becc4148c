//===- SensitiveReaders.cpp - Angles, positions and choices ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A phase is small if its range says so, or if it is an affine function of one
// product of constant weights and bounded values. For such a product the
// typical size is used: the square root of the number of terms times the
// greatest term. The sum of all terms would be much too large for layers that
// are followed by a sine (SIREN).
//
//===----------------------------------------------------------------------===//

#include "SensitivityContext.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The greatest phase, in rad, that 16 bit holds accurately enough.
static constexpr double smallPhase = 8;
/// Limit for steps of data movement to look through.
static constexpr unsigned maxReaderSteps = 16;

//===----------------------------------------------------------------------===//
// Angles
//===----------------------------------------------------------------------===//

namespace {

/// The typical magnitude of a phase; infinite if it is unknown.
class PhaseSize {
public:
  explicit PhaseSize(SensitivityContext &context) : context(context) {}
  double get(Value value);

private:
  bool step(Operation *op);
  double getProduct(Operation *op);

  SensitivityContext &context;
  Value value;
  double factor = 1, squaredOffsets = 0;
};

} // namespace

/// Moves to the operand of an affine function; false for all other nodes.
bool PhaseSize::step(Operation *op) {
  OperatorMath math = context.getMath(op);
  const OperatorTraits &traits = context.getTraits(op);
  bool moves = traits.kind == OperatorKind::Movement ||
               math == OperatorMath::Neg || math == OperatorMath::Cast;
  if (moves || op->getNumOperands() != 2 || !traits.isElementwise()) {
    if (moves)
      value = op->getOperand(0);
    return moves;
  }
  for (unsigned index : {0, 1}) {
    double constant = context.getMagnitude(op->getOperand(1 - index));
    if (!context.isConstantValue(op->getOperand(1 - index)) ||
        !std::isfinite(constant))
      continue;
    if (math == OperatorMath::Add || math == OperatorMath::Sub)
      squaredOffsets += factor * factor * constant * constant;
    else if (math == OperatorMath::Mul)
      factor *= constant;
    else
      continue;
    value = op->getOperand(index);
    return true;
  }
  return false;
}

double PhaseSize::getProduct(Operation *op) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  if (op->getNumOperands() < 2)
    return unknown;
  uint64_t products = context.countProducts(op);
  double terms =
      double(products) / context.getSizes().getElements(op->getResult(0));
  double product = context.getMagnitude(op->getOperand(0)) *
                   context.getMagnitude(op->getOperand(1)) * std::sqrt(terms);
  double bias =
      op->getNumOperands() > 2 ? context.getMagnitude(op->getOperand(2)) : 0;
  return products ? std::hypot(product, bias) : unknown;
}

double PhaseSize::get(Value from) {
  value = from;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned count = 0; count < maxReaderSteps; ++count) {
    Operation *op = value.getDefiningOp();
    bool isProduct = op && isNode(op) && context.getTraits(op).contracts();
    double size = context.getMagnitude(value);
    if (isProduct)
      size = std::min(size, getProduct(op));
    least = std::min(least,
                     std::sqrt(factor * factor * size * size + squaredOffsets));
    if (isProduct || !op || !isNode(op) || !step(op))
      break;
  }
  return least;
}

static void findAngle(SensitivityContext &context, SensitiveWalk &walk,
                      Operation *op) {
  Value phase = op->getOperand(0);
  // Products before the second one cost little.
  if (context.depths.lookup(phase) == ProductDepth::Deep &&
      PhaseSize(context).get(phase) <= smallPhase)
    return;
  walk.add(phase, SensitiveReader::Angle,
           "makes the angle of " + describe(op) +
               ", and no range proves it small");
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// The value before data movement and casts.
static Value skipMovement(SensitivityContext &context, Value value) {
  for (unsigned count = 0; count < maxReaderSteps; ++count) {
    Operation *op = value.getDefiningOp();
    if (!op || !isNode(op) || op->getNumOperands() == 0 ||
        context.getTraits(op).kind != OperatorKind::Movement)
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// True for x - floor(x), in this order.
static bool takesFraction(SensitivityContext &context, Operation *op) {
  if (context.getMath(op) != OperatorMath::Sub || op->getNumOperands() != 2)
    return false;
  Operation *whole = skipMovement(context, op->getOperand(1)).getDefiningOp();
  return context.getMath(whole) == OperatorMath::Whole &&
         skipMovement(context, whole->getOperand(0)) ==
             skipMovement(context, op->getOperand(0));
}

/// True for a Cast to integers, except for those of 8 and 16 bits that quantize
/// results of deep products.
static bool makesIntegers(SensitivityContext &context, Operation *op) {
  if (context.getMath(op) != OperatorMath::Cast || op->getNumOperands() != 1)
    return false;
  auto to = dyn_cast_or_null<IntegerType>(
      getTensorElementType(op->getResult(0).getType()));
  if (!to || to.getWidth() == 1)
    return false;
  return to.getWidth() > 16 ||
         context.depths.lookup(op->getOperand(0)) != ProductDepth::Deep;
}

static void findPositions(SensitivityContext &context, SensitiveWalk &walk,
                          Operation *op) {
  const OperatorTraits &traits = context.getTraits(op);
  auto add = [&](unsigned operand, StringRef before, StringRef after = "") {
    if (isNarrowFloat(op->getOperand(operand).getType()))
      walk.add(op->getOperand(operand), SensitiveReader::Position,
               (before + describe(op) + after).str());
  };
  if (makesIntegers(context, op))
    add(0, "becomes integers in ");
  else if (takesFraction(context, op))
    add(0, "its whole and fractional parts are both used, by ");
  else if (context.getMath(op) == OperatorMath::Remainder)
    add(0, "its remainder is taken by ");
  if (traits.hasRole(OperandRole::Coordinates))
    for (unsigned index = 0; index < op->getNumOperands(); ++index)
      if (traits.hasRole(OperandRole::Coordinates, index))
        add(index, "makes coordinates that ", " reads");
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

static void addChoice(SensitivityContext &context, SensitiveWalk &walk,
                      Operation *op, Value value) {
  walk.add(value, SensitiveReader::Choice,
           "its elements are compared by " + describe(op) +
               ", and only one product lies between inputs and them");
}

/// Handles Equal if one of its operands was not made by a product. If products
/// made both, an element is compared with itself, as in gradients of ReduceMax.
static void findEqual(SensitivityContext &context, SensitiveWalk &walk,
                      Operation *op) {
  for (unsigned index : {0, 1})
    if (context.depths.lookup(op->getOperand(1 - index)) <= ProductDepth::Input)
      addChoice(context, walk, op, op->getOperand(index));
}

static void findChoices(SensitivityContext &context, SensitiveWalk &walk,
                        Operation *op) {
  const OperatorTraits &traits = context.getTraits(op);
  // Shape and Size yield indices and read no elements.
  if (traits.kind == OperatorKind::Ordering ||
      (traits.kind == OperatorKind::Index && !traits.has(Narrow) &&
       !traits.hasRole(OperandRole::Coordinates)))
    addChoice(context, walk, op, op->getOperand(0));
  else if (isStandardOp(op, "Equal") && op->getNumOperands() == 2)
    findEqual(context, walk, op);
}

void findSensitiveReaders(SensitivityContext &context, SensitiveWalk &walk) {
  for (Operation *op : context.flow.getOps()) {
    if (!isNode(op) || op->getNumOperands() == 0 || op->getNumRegions() ||
        op->getNumResults() == 0)
      continue;
    if (context.getMath(op) == OperatorMath::Periodic)
      findAngle(context, walk, op);
    findPositions(context, walk, op);
    findChoices(context, walk, op);
  }
}

//===----------------------------------------------------------------------===//
// Large integers
//===----------------------------------------------------------------------===//

void findLargeIntegers(SensitivityContext &context) {
  SmallVector<Value> worklist;
  llvm::DenseSet<Value> seen;
  auto push = [&](Value value) {
    if (isNarrowFloat(value.getType()) && seen.insert(value).second)
      worklist.push_back(value);
  };
  for (Operation *op : context.flow.getOps())
    if (isNode(op) && isCastOfIntegers(op) &&
        context.depths.lookup(op) == ProductDepth::Input &&
        context.ranges.get(op->getResult(0)).getMaxMagnitude() >
            context.limits.max)
      push(op->getResult(0));
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (context.flow.forEachTarget(use, push) || !isNode(user))
        continue;
      const OperatorTraits &traits = context.getTraits(user);
      if (traits.contracts())
        context.found.hazards.add(
            user,
            "operand '" + getValueName(value).str() +
                "' is made of integers of unknown range, " +
                context.limits.name.str() + " ends at " +
                formatNumber(context.limits.max),
            /*isCautious=*/true);
      else if (traits.movesData() || traits.kind == OperatorKind::Combination)
        llvm::for_each(user->getResults(), push);
    }
  }
}

} // namespace mp
