//===- Cancellation.cpp - Differences that lose their digits --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounding a value of magnitude |c| to 16 bit moves it by up to |c| u / 2. If
// |c| is subtracted and the rest is divided by its spread s, the result moves
// by |c| u / (2 s). If a step of the 16-bit type is 1/8 of the spread or more,
// the arithmetic stays fp32. If it is two spreads or more, so does the product
// that makes the value, as nothing would be left of its result.
//
//===----------------------------------------------------------------------===//

#include "SensitivityContext.h"
#include "SmallConstants.h"

#include "mp-opt/Operators/NodeView.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// A step of the 16-bit type must stay below these multiples of the spread.
static constexpr double lossySteps = 1.0 / 8, destroyingSteps = 2;
/// A step of fp32, relative to its number.
static constexpr double fp32Step = 1.0 / (1 << 23);
/// Limits for channels of a normalization, and for nodes of a search.
static constexpr int64_t maxChannels = 1 << 16;
static constexpr unsigned maxVisited = 64;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

namespace {

class ConstantFinder {
public:
  ConstantFinder(SensitivityContext &context, SensitiveWalk &walk)
      : context(context), walk(walk),
        step(2 * context.limits.roundoffBelowOne) {}

  void visitNormalization(Operation *op);
  void visitSum(Operation *op);

private:
  double getSpread(Value sum);
  double getConstant(Value value);
  void add(Operation *op, Value data, double steps, std::string reason);
  void addForward(Value value, const std::string &reason);

  SensitivityContext &context;
  SensitiveWalk &walk;
  /// Relative size of a step of the 16-bit type.
  const double step;
};

} // namespace

void ConstantFinder::add(Operation *op, Value data, double steps,
                         std::string reason) {
  if (steps >= destroyingSteps)
    walk.add(data, SensitiveReader::Difference, reason);
  context.found.hazards.add(op, std::move(reason));
}

/// Uses the root mean square over channels, in which one unused channel has no
/// weight.
void ConstantFinder::visitNormalization(Operation *op) {
  if (op->getNumOperands() < 5)
    return;
  std::optional<std::vector<float>> channels[4];
  for (unsigned index = 0; index < 4; ++index) {
    channels[index] = getFloatElements(op->getOperand(index + 1), maxChannels);
    if (!channels[index])
      return;
  }
  auto &[scale, bias, mean, variance] = channels;
  if (scale->empty())
    return;
  double epsilon = NodeView(op).getFloat("epsilon", 1e-5);
  double squaredError = 0, squaredScale = 0;
  size_t count = std::max({scale->size(), mean->size(), variance->size()});
  auto at = [](const std::vector<float> &list, size_t index) {
    return double(index < list.size() ? list[index] : list.front());
  };
  for (size_t index = 0; index < count; ++index) {
    double factor = at(*scale, index);
    double spread = std::sqrt(at(*variance, index) + epsilon);
    double error = factor * at(*mean, index) * step / spread;
    squaredError += error * error;
    squaredScale += factor * factor;
  }
  double steps = std::sqrt(squaredError / squaredScale);
  if (steps >= lossySteps)
    add(op, op->getOperand(0), steps,
        "its mean is large next to its spread: a step of " +
            context.limits.name.str() + " is " + formatNumber(steps) +
            " of it");
}

/// The greatest magnitude of a constant; 0 for other values.
double ConstantFinder::getConstant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !context.isConstantValue(value) ||
      (isConstant(op) && getClamp(op)))
    return 0;
  double size = context.ranges.get(value).getMaxMagnitude();
  return std::isfinite(size) ? size : 0;
}

/// The divisor of a sum; 0 if none is known.
double ConstantFinder::getSpread(Value sum) {
  SmallVector<Value> worklist = {sum};
  for (unsigned count = 0; !worklist.empty() && count < maxVisited; ++count) {
    Value value = worklist.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (!isNode(user) || user->getNumOperands() == 0)
        continue;
      OperatorMath math = context.getMath(user);
      if (context.getTraits(user).kind == OperatorKind::Movement)
        llvm::append_range(worklist, user->getResults());
      if (user->getNumOperands() != 2)
        continue;
      double other = getConstant(user->getOperand(1 - use.getOperandNumber()));
      if (math == OperatorMath::Div && use.getOperandNumber() == 0 && other)
        return other;
      if (math == OperatorMath::Mul && other)
        return 1 / other;
    }
  }
  return 0;
}

/// Marks readers of a sum of positions, up to products and outputs.
void ConstantFinder::addForward(Value value, const std::string &reason) {
  SmallVector<Value> worklist = {value};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (!context.isFollowed(user) ||
          !context.found.hazards.lookup(user).empty())
        continue;
      context.found.hazards.add(user, reason);
      llvm::append_range(worklist, user->getResults());
    }
}

/// A sum of a value and a constant.
void ConstantFinder::visitSum(Operation *op) {
  for (unsigned index : {0, 1}) {
    Value data = op->getOperand(index);
    double constant = getConstant(op->getOperand(1 - index));
    if (!constant || context.isConstantValue(data))
      continue;
    std::string text = "'" + getValueName(op->getOperand(1 - index)).str() +
                       "' (" + formatNumber(constant) + ") is large next to ";
    const Interval &range = context.ranges.get(data);
    if (range.isBounded()) {
      double width = range.hi - range.lo;
      // A constant so large that fp32 also loses the rest is a mask.
      if (constant * step < lossySteps * width ||
          constant * fp32Step >= lossySteps * width)
        continue;
      text += "'" + getValueName(data).str() + "', which spans " +
              formatNumber(width);
      context.found.hazards.add(op, text);
      addForward(op->getResult(0), text);
    } else if (double spread = getSpread(op->getResult(0));
               spread && constant * step >= lossySteps * spread) {
      add(op, data, constant * step / spread,
          text + "the spread of the result (" + formatNumber(spread) + ")");
    }
  }
}

void findCancellingConstants(SensitivityContext &context, SensitiveWalk &walk) {
  ConstantFinder finder(context, walk);
  for (Operation *op : context.flow.getOps()) {
    if (!isNode(op) || op->getNumOperands() == 0 ||
        !isNarrowFloat(op->getOperand(0).getType()))
      continue;
    OperatorMath math = context.getMath(op);
    const OperatorTraits &traits = context.getTraits(op);
    if (traits.kind == OperatorKind::Normalization &&
        traits.hasRole(OperandRole::Statistics))
      finder.visitNormalization(op);
    else if (op->getNumOperands() == 2 &&
             (math == OperatorMath::Add || math == OperatorMath::Sub))
      finder.visitSum(op);
  }
}

//===----------------------------------------------------------------------===//
// Differences near zero
//===----------------------------------------------------------------------===//

/// The operand that makes the result large when it is near zero; null for other
/// nodes.
static Value getSmallOperand(SensitivityContext &context, Operation *op) {
  switch (context.getMath(op)) {
  case OperatorMath::Log:
  case OperatorMath::Reciprocal:
  case OperatorMath::Sqrt:
    return op->getOperand(0);
  case OperatorMath::Div:
    return op->getNumOperands() == 2 ? op->getOperand(1) : Value();
  case OperatorMath::Pow:
    return op->getNumOperands() == 2 &&
                   context.ranges.get(op->getOperand(1)).hi < 1
               ? op->getOperand(0)
               : Value();
  default:
    return {};
  }
}

static bool mayBeZero(const Interval &range) {
  return range.lo <= 0 && range.hi >= 0;
}

/// A difference, or a sum with a negative constant, that may be zero.
static bool isDifference(SensitivityContext &context, Operation *op) {
  OperatorMath math = context.getMath(op);
  if (op->getNumOperands() != 2 ||
      !mayBeZero(context.ranges.get(op->getResult(0))))
    return false;
  if (math == OperatorMath::Sub)
    return true;
  return math == OperatorMath::Add &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return context.isConstantValue(operand) &&
                  context.ranges.get(operand).hi < 0;
         });
}

/// Adds the differences that a value is made of, through ops that keep a value
/// near zero there. True if there are any.
static bool addDifferences(SensitivityContext &context, SensitiveWalk &walk,
                           Operation *reader, Value from) {
  SmallVector<Value> worklist = {from};
  bool found = false;
  for (unsigned count = 0; !worklist.empty() && count < maxVisited; ++count) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || !context.isFollowed(op))
      continue;
    if (isDifference(context, op)) {
      std::string reason = "part of the difference of " + describe(op) +
                           ", which may be near zero where " +
                           describe(reader) + " reads it";
      context.found.hazards.add(op, reason);
      found = true;
      for (Value operand : op->getOperands())
        walk.add(operand, SensitiveReader::Difference, reason);
      continue;
    }
    OperatorMath math = context.getMath(op);
    const OperatorTraits &traits = context.getTraits(op);
    if (traits.has(Exact) || traits.movesData() ||
        traits.kind == OperatorKind::Combination || math == OperatorMath::Add ||
        math == OperatorMath::Mul || math == OperatorMath::Cast)
      llvm::append_range(worklist, context.getData(op));
  }
  return found;
}

void findNearZeroDifferences(SensitivityContext &context, SensitiveWalk &walk) {
  for (Operation *op : context.flow.getOps()) {
    if (!isNode(op) || op->getNumOperands() == 0 ||
        !isNarrowFloat(op->getOperand(0).getType()))
      continue;
    Value small = getSmallOperand(context, op);
    if (!small || context.isConstantValue(small) ||
        !addDifferences(context, walk, op, small))
      continue;
    // A quotient of two differences, e.g. a correlation.
    if (context.getMath(op) == OperatorMath::Div)
      addDifferences(context, walk, op, op->getOperand(0));
  }
}

} // namespace mp
