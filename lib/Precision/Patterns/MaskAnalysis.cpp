//===- MaskAnalysis.cpp - Constants that only mask a softmax --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The analysis is one pass backward over the nodes: uses come after
// definitions, so the combined uses of a value are known when its definition is
// visited. Constants are read only if their uses allow a mask.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Patterns/MaskAnalysis.h"

#include "MaskSteps.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// The combined effect of the uses of a value, each of which ends in a softmax.
struct MaskUse {
  /// 1: large negative elements mask; -1: large positive ones; 0: none yet.
  int sign = 0;
  /// Part of the range that each term of the sums on the way may take.
  double share = 1;
  /// Least and greatest product of the factors on the way.
  double minGain = 1, maxGain = 1;

  /// False if the two contradict each other.
  bool join(const MaskUse &other) {
    if (sign && other.sign && sign != other.sign)
      return false;
    sign = sign ? sign : other.sign;
    share = std::min(share, other.share);
    minGain = std::min(minGain, other.minGain);
    maxGain = std::max(maxGain, other.maxGain);
    return true;
  }
};

class MaskFinder {
public:
  MaskFinder(Operation *scope, RangeAnalysis &ranges, ElementKind low);
  std::vector<MaskConstant> run(const llvm::StringSet<> &trainingNames);

private:
  MaskStep getStep(Operation *node);
  std::optional<MaskUse> getUses(Value value);
  std::optional<MaskUse> getUse(OpOperand &use);
  std::optional<MaskUse> getResult(Operation *node, unsigned index = 0);
  std::optional<MaskUse> joinResults(Operation *node);
  std::optional<MaskUse> getTerm(Operation *node, unsigned index);
  std::optional<MaskUse> scaleUse(Operation *node, Value factor, bool divides);
  bool isSubtractedMax(Operation *reduceMax);
  bool isAttentionMask(OpOperand &use);
  std::optional<double> getBound(Operation *constant, const MaskUse &use);

  Operation *scope;
  RangeAnalysis &ranges;
  const LowLimits limits;
  const unsigned significantBits;
  SchemaCache schemas;
  llvm::DenseMap<const void *, MaskStep> steps;
  /// Values all of whose uses end in a softmax.
  llvm::DenseMap<Value, MaskUse> masks;
};

} // namespace

/// The least product of bound and factors that still counts as a mask.
static constexpr double minMask = 2048;

MaskFinder::MaskFinder(Operation *scope, RangeAnalysis &ranges, ElementKind low)
    : scope(scope), ranges(ranges), limits(low),
      significantBits(low == ElementKind::Float16 ? 11 : 8), schemas(scope) {}

/// The step for an operator of a kind, regardless of what it computes.
static MaskStep getStepOfKind(const OperatorTraits &traits) {
  if (traits.movesData())
    return MaskStep::Moves;
  return traits.kind == OperatorKind::Combination ? MaskStep::Chooses
                                                  : MaskStep::Ends;
}

MaskStep getMaskStep(Operation *node) {
  const OperatorTraits &traits = getOperatorTraits(node);
  // Custom operators of runtimes have masks as separate operands.
  if (getDomain(node) == "com.microsoft" && !isa<CustomOp>(node))
    return MaskStep::Attention;
  switch (traits.math) {
  case OperatorMath::Softmax:
  case OperatorMath::Exp:
    return MaskStep::Softmax;
  case OperatorMath::LogSoftmax:
    return MaskStep::LogSoftmax;
  case OperatorMath::LogSumExp:
    return MaskStep::Exponentials;
  case OperatorMath::Max:
    return traits.reduces() ? MaskStep::ReduceMax : MaskStep::Chooses;
  case OperatorMath::Min:
    return traits.reduces() ? MaskStep::Ends : MaskStep::Chooses;
  case OperatorMath::Where:
    return MaskStep::Chooses;
  case OperatorMath::Cast:
    return MaskStep::Casts;
  case OperatorMath::Add:
    return MaskStep::Adds;
  case OperatorMath::Sub:
    return MaskStep::Subtracts;
  case OperatorMath::Neg:
    return MaskStep::Negates;
  case OperatorMath::Mul:
    return MaskStep::Multiplies;
  case OperatorMath::Div:
    return MaskStep::Divides;
  default:
    break;
  }
  // Exponentials are internal, masks are separate operands, or branches yield
  // them.
  if (!getDomain(node).empty())
    return MaskStep::Ends;
  return llvm::StringSwitch<MaskStep>(getOpType(node))
      .Case("SoftmaxCrossEntropyLoss", MaskStep::Exponentials)
      .Case("Attention", MaskStep::Attention)
      .Case("If", MaskStep::If)
      .Default(getStepOfKind(traits));
}

MaskStep MaskFinder::getStep(Operation *node) {
  auto [it, isNew] = steps.try_emplace(node->getName().getAsOpaquePointer());
  if (isNew)
    it->second = getMaskStep(node);
  return it->second;
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

std::optional<MaskUse> MaskFinder::getResult(Operation *node, unsigned index) {
  auto it = masks.find(node->getResult(index));
  return it == masks.end() ? std::nullopt : std::optional(it->second);
}

/// True if the maximum is only subtracted from the value that it was computed
/// from.
bool MaskFinder::isSubtractedMax(Operation *reduceMax) {
  Value from = reduceMax->getOperand(0), max = reduceMax->getResult(0);
  return llvm::all_of(max.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return getStep(user) == MaskStep::Subtracts &&
           use.getOperandNumber() == 1 && user->getOperand(0) == from &&
           masks.contains(user->getResult(0));
  });
}

/// Attention adds the mask to its scores, in its own precision.
bool MaskFinder::isAttentionMask(OpOperand &use) {
  const OpSchema *schema = schemas.lookup(use.getOwner()).schema;
  const FormalParameter *parameter =
      schema ? schema->getInput(use.getOperandNumber()) : nullptr;
  return parameter &&
         (parameter->name == "attn_mask" ||
          parameter->name == "attention_bias" ||
          (schema->name == "BiasSoftmax" && use.getOperandNumber() < 2));
}

/// A product with zeros and ones, or with one number.
std::optional<MaskUse> MaskFinder::scaleUse(Operation *node, Value factor,
                                            bool divides) {
  std::optional<MaskUse> mask = getResult(node);
  if (!mask)
    return mask;
  const Interval &range = ranges.get(factor);
  double number = range.lo;
  if (range.lo != range.hi || number == 0) {
    bool isOnOff = !divides && range.isInteger;
    if (isOnOff && range.isWithin(0, 1))
      return mask;
    if (!isOnOff || !range.isWithin(-1, 0))
      return std::nullopt;
    mask->sign = -mask->sign;
    return mask;
  }
  double gain = std::fabs(divides ? 1 / number : number);
  // A factor of the size of a mask does not count as a factor.
  if (gain > minMask || gain < 1 / minMask)
    return std::nullopt;
  mask->minGain *= gain;
  mask->maxGain *= gain;
  mask->sign = number < 0 ? -mask->sign : mask->sign;
  return mask;
}

/// Joins the uses of all results.
std::optional<MaskUse> MaskFinder::joinResults(Operation *user) {
  std::optional<MaskUse> mask = MaskUse();
  for (unsigned result = 0; result < user->getNumResults(); ++result) {
    std::optional<MaskUse> next = getResult(user, result);
    if (!next || !mask->join(*next))
      return std::nullopt;
  }
  return mask;
}

static std::optional<MaskUse> negate(std::optional<MaskUse> mask) {
  if (mask)
    mask->sign = -mask->sign;
  return mask;
}

/// The use of a term of a sum or a difference.
std::optional<MaskUse> MaskFinder::getTerm(Operation *user, unsigned index) {
  std::optional<MaskUse> mask = getResult(user);
  if (!mask)
    return mask;
  mask->share /= std::max(2u, user->getNumOperands());
  bool flips = getStep(user) == MaskStep::Subtracts && index == 1;
  return flips ? negate(mask) : mask;
}

std::optional<MaskUse> MaskFinder::getUse(OpOperand &use) {
  Operation *user = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (isa<YieldOp>(user)) {
    Operation *parent = user->getParentOp();
    return getStep(parent) == MaskStep::If && index < parent->getNumResults()
               ? getResult(parent, index)
               : std::nullopt;
  }
  if (!isNode(user))
    return std::nullopt;
  switch (getStep(user)) {
  case MaskStep::Ends:
  case MaskStep::Exponentials:
  case MaskStep::Casts:
  case MaskStep::If:
    return std::nullopt;
  case MaskStep::Softmax:
    return MaskUse{1};
  case MaskStep::Attention:
    if (isAttentionMask(use))
      return MaskUse{1, 0.5};
    return std::nullopt;
  case MaskStep::ReduceMax:
    return index == 0 && isSubtractedMax(user) ? std::optional(MaskUse())
                                               : std::nullopt;
  case MaskStep::Moves:
    return index == 0 ? joinResults(user) : std::nullopt;
  case MaskStep::Chooses:
    return getResult(user);
  case MaskStep::LogSoftmax:
  case MaskStep::Adds:
  case MaskStep::Subtracts:
    return getTerm(user, index);
  case MaskStep::Negates:
    return negate(getResult(user));
  case MaskStep::Multiplies:
    return scaleUse(user, user->getOperand(1 - index), /*divides=*/false);
  case MaskStep::Divides:
    return index == 0 ? scaleUse(user, user->getOperand(1), /*divides=*/true)
                      : std::nullopt;
  }
  return std::nullopt;
}

std::optional<MaskUse> MaskFinder::getUses(Value value) {
  MaskUse mask;
  for (OpOperand &use : value.getUses()) {
    std::optional<MaskUse> next = getUse(use);
    if (!next || !mask.join(*next))
      return std::nullopt;
  }
  return mask;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The bound for a constant; absent if it needs none, or if none would work.
std::optional<double> MaskFinder::getBound(Operation *constant,
                                           const MaskUse &use) {
  if (!use.sign)
    return std::nullopt;
  const ConstantFacts &facts = ranges.getConstants().getFacts(constant);
  if (!facts.isKnown || facts.lo > facts.hi)
    return std::nullopt;
  double bound = limits.max * std::min(use.share, 0.5);
  // The range of the elements, with signs as if large negative ones masked.
  double lo = use.sign > 0 ? facts.lo : -facts.hi;
  double hi = use.sign > 0 ? facts.hi : -facts.lo;
  bool overflowsInSum = use.share < 1 && lo < -bound;
  if (!facts.overflows && !overflowsInSum)
    return std::nullopt;
  // Elements that all lie beyond the bound and differ are not a mask.
  if (hi > bound || (hi < -bound && lo != hi))
    return std::nullopt;
  bound /= std::max(1.0, use.maxGain);
  int exponent;
  double fraction = std::frexp(bound, &exponent);
  bound = std::ldexp(std::floor(std::ldexp(fraction, significantBits)),
                     exponent - int(significantBits));
  if (bound * use.minGain < minMask)
    return std::nullopt;
  return bound;
}

std::vector<MaskConstant>
MaskFinder::run(const llvm::StringSet<> &trainingNames) {
  std::vector<Operation *> ops;
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isNode(op) || isa<InitializerOp>(op))
      ops.push_back(op);
  });
  std::vector<MaskConstant> found;
  for (Operation *op : llvm::reverse(ops)) {
    for (OpResult result : op->getResults()) {
      if (!isF32Tensor(result.getType()))
        continue;
      std::optional<MaskUse> mask = getUses(result);
      if (!mask)
        continue;
      masks[result] = *mask;
      if (!isConstant(op) || trainingNames.contains(getValueName(result)))
        continue;
      if (std::optional<double> bound = getBound(op, *mask))
        found.push_back({op, *bound});
    }
  }
  return found;
}

std::vector<MaskConstant> findMasks(Operation *scope, RangeAnalysis &ranges,
                                    ElementKind low,
                                    const llvm::StringSet<> &trainingNames) {
  return MaskFinder(scope, ranges, low).run(trainingNames);
}

//===----------------------------------------------------------------------===//
// Masks that are narrowed before the softmax
//===----------------------------------------------------------------------===//

static bool carriesMask(MaskStep step) {
  return step != MaskStep::Ends && step != MaskStep::Softmax &&
         step != MaskStep::Exponentials && step != MaskStep::Casts &&
         step != MaskStep::Attention;
}

std::vector<Operation *> findNarrowedMasks(Operation *scope) {
  bool hasMasks = false;
  std::vector<Operation *> ops, found;
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    ops.push_back(op);
    hasMasks |= op->hasAttr(mark::clamp);
  });
  if (!hasMasks)
    return found;
  llvm::DenseSet<Operation *> narrowed;
  auto reachesNarrow = [&](Operation *user) {
    if (isa<YieldOp>(user))
      user = user->getParentOp();
    return narrowed.contains(user) ||
           (isInsertedCast(user) &&
            is16BitTensor(user->getResult(0).getType()));
  };
  for (Operation *op : llvm::reverse(ops)) {
    bool isMask = op->hasAttr(mark::clamp);
    MaskStep step = isNode(op) ? getMaskStep(op) : MaskStep::Ends;
    bool carries = isMask || isInsertedCast(op) || carriesMask(step);
    if (!carries || llvm::none_of(op->getUsers(), reachesNarrow))
      continue;
    narrowed.insert(op);
    if (isMask && isF32Tensor(op->getResult(0).getType()))
      found.push_back(op);
  }
  return found;
}

} // namespace mp
