//===- MaskSums.cpp - Scores to which a mask is added ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass backward finds the values that reach a softmax. A pass forward finds
// which of these hold a mask, with its size, and which hold a sum. Bodies come
// before their ops, and definitions before uses. Constants are read only if
// they reach a softmax.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Patterns/MaskSums.h"

#include "MaskSteps.h"
#include "mp-opt/Graph/Parameters.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// The largest element of a mask that a value is made of; none if `size` is 0.
struct Mask {
  /// The size in fp32, and in 16 bit, where it may be smaller.
  double size = 0, lowSize = 0;
  /// The constant, or the value whose range is known, and its number.
  Value source = {};
  double number = 0;
};

class MaskSumFinder {
public:
  MaskSumFinder(Operation *scope, RangeAnalysis &ranges, ElementKind low)
      : scope(scope), ranges(ranges),
        lowName(low == ElementKind::Float16 ? "fp16" : "bf16"),
        lowBits(low == ElementKind::Float16 ? 11 : 8) {}

  std::vector<MaskSum> run();

private:
  MaskStep getStep(Operation *node);
  bool reachesSoftmax(OpOperand &use);
  bool isContraction(Operation *node);
  void visit(Operation *node);
  const Mask *findReadSum(Operation *node) const;
  void visitReader(Operation *node, Mask mask);
  Mask getConstantMask(Operation *constant);
  void addDefaults();
  Mask getLargest(Operation *node);
  Mask getYielded(Operation *branches, unsigned result) const;
  Mask getRangeMask(Value value);
  Mask getProduct(Operation *node, bool divides);
  Mask getMask(Operation *node, unsigned result);
  bool losesScores(Operation *sum, Value masked);
  void mark(Operation *node, const Mask &mask);

  Operation *scope;
  RangeAnalysis &ranges;
  const StringRef lowName;
  const unsigned lowBits;
  llvm::DenseMap<const void *, MaskStep> steps;
  OperatorTraitsCache traits;
  llvm::DenseSet<Value> reaching;
  /// Values that depend on a contraction.
  llvm::DenseSet<Value> computed;
  llvm::DenseMap<Value, Mask> masks;
  llvm::DenseMap<Value, Mask> sums;
  std::vector<MaskSum> found;
};

} // namespace

/// The assumed magnitude of scores if no tighter bound is known.
static constexpr double usualScore = 32;
/// The step between neighbouring numbers from which on a number is a mask: a
/// rounding by half of it changes a probability by an eighth.
static constexpr double minStep = 0.25;

/// The distance between neighbouring numbers near `size`.
static double getStepBeside(double size, unsigned significantBits) {
  return std::ldexp(1.0, std::ilogb(size) - int(significantBits) + 1);
}

MaskStep MaskSumFinder::getStep(Operation *node) {
  auto [it, isNew] = steps.try_emplace(node->getName().getAsOpaquePointer());
  if (isNew)
    it->second = getMaskStep(node);
  return it->second;
}

bool MaskSumFinder::isContraction(Operation *node) {
  // A called function may contain one.
  return isa<CustomOp>(node) || traits.lookup(node).contracts();
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

bool MaskSumFinder::reachesSoftmax(OpOperand &use) {
  Operation *user = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (isa<YieldOp>(user)) {
    Operation *parent = user->getParentOp();
    return isNode(parent) && getStep(parent) == MaskStep::If &&
           index < parent->getNumResults() &&
           reaching.contains(parent->getResult(index));
  }
  if (!isNode(user))
    return false;
  switch (getStep(user)) {
  case MaskStep::Ends:
  case MaskStep::Attention:
  case MaskStep::ReduceMax:
  case MaskStep::If:
    return false;
  case MaskStep::Softmax:
  case MaskStep::LogSoftmax:
  case MaskStep::Exponentials:
    return index == 0;
  case MaskStep::Moves:
  case MaskStep::Divides:
    if (index != 0)
      return false;
    break;
  case MaskStep::Casts:
  case MaskStep::Chooses:
  case MaskStep::Adds:
  case MaskStep::Subtracts:
  case MaskStep::Negates:
  case MaskStep::Multiplies:
    break;
  }
  return llvm::any_of(user->getResults(), [&](OpResult result) {
    return reaching.contains(result);
  });
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

static double getExtreme(double lo, double hi) { return -lo > hi ? lo : hi; }

Mask MaskSumFinder::getConstantMask(Operation *constant) {
  Value value = constant->getResult(0);
  Mask mask{0, 0, value, 0};
  if (isF32Tensor(value.getType())) {
    const ConstantFacts &facts = ranges.getConstants().getFacts(constant);
    if (facts.isKnown && facts.lo <= facts.hi)
      mask.number = getExtreme(facts.lo, facts.hi);
  } else if (double reached = ranges.get(value).getReached()) {
    mask.number = ranges.get(value).minAtMost == -reached ? -reached : reached;
  }
  mask.size = mask.lowSize = std::fabs(mask.number);
  if (std::optional<double> bound = getClamp(constant))
    mask.lowSize = std::min(mask.size, *bound);
  if (!mask.size || getStepBeside(mask.lowSize, lowBits) < minStep)
    return {};
  return mask;
}

/// The largest mask among the operands whose elements the result has.
Mask MaskSumFinder::getLargest(Operation *node) {
  Mask largest;
  Type element = getTensorElementType(node->getResult(0).getType());
  bool isCast = getStep(node) == MaskStep::Casts;
  for (Value operand : node->getOperands()) {
    Mask mask = masks.lookup(operand);
    if (mask.size > largest.size &&
        (isCast || getTensorElementType(operand.getType()) == element))
      largest = mask;
  }
  return largest;
}

Mask MaskSumFinder::getYielded(Operation *branches, unsigned result) const {
  Mask largest;
  for (Region &region : branches->getRegions())
    if (YieldOp yield = getYield(region);
        yield && result < yield->getNumOperands())
      if (Mask mask = masks.lookup(yield->getOperand(result));
          mask.size > largest.size)
        largest = mask;
  return largest;
}

/// The mask that the range of a value implies, if both ends are known.
Mask MaskSumFinder::getRangeMask(Value value) {
  const Interval &range = ranges.get(value);
  if (!range.isBounded())
    return {};
  double size = range.getMaxMagnitude();
  return {size, size, value, getExtreme(range.lo, range.hi)};
}

/// A mask times ones and zeros, or times a number.
Mask MaskSumFinder::getProduct(Operation *node, bool divides) {
  Mask mask = masks.lookup(node->getOperand(0));
  Value factor = node->getOperand(1);
  if (Mask other = masks.lookup(factor); !divides && other.size > mask.size) {
    mask = other;
    factor = node->getOperand(0);
  }
  // Scaled scores are not a mask.
  if (computed.contains(factor))
    return {};
  // Neither factor is large, their product may be.
  if (!mask.size)
    return computed.contains(node->getResult(0))
               ? Mask()
               : getRangeMask(node->getResult(0));
  const Interval &range = ranges.get(factor);
  if (range.lo != range.hi || range.lo == 0)
    return mask;
  double gain = std::fabs(divides ? 1 / range.lo : range.lo);
  mask.size *= gain;
  mask.lowSize *= gain;
  return mask;
}

Mask MaskSumFinder::getMask(Operation *node, unsigned result) {
  Mask mask;
  switch (getStep(node)) {
  case MaskStep::Moves:
    mask = masks.lookup(node->getOperand(0));
    break;
  case MaskStep::Casts:
  case MaskStep::Chooses:
  case MaskStep::Adds:
  case MaskStep::Subtracts:
  case MaskStep::Negates:
    mask = getLargest(node);
    break;
  case MaskStep::Multiplies:
    mask = getProduct(node, /*divides=*/false);
    break;
  case MaskStep::Divides:
    mask = getProduct(node, /*divides=*/true);
    break;
  case MaskStep::If:
    mask = getYielded(node, result);
    break;
  default:
    break;
  }
  if (mask.size && getStepBeside(mask.lowSize, lowBits) < minStep)
    return {};
  return mask;
}

/// True if a sum loses the values added to one of its operands, a mask, in 16
/// bit, but not in fp32.
bool MaskSumFinder::losesScores(Operation *sum, Value masked) {
  double scores = 0;
  for (Value operand : sum->getOperands()) {
    // Masks are not scores, unless they already contain scores.
    if (operand == masked ||
        (masks.contains(operand) && !computed.contains(operand)))
      continue;
    const Interval &range = ranges.get(operand);
    // One number for all elements changes no probability.
    if (range.lo == range.hi)
      continue;
    scores = std::max(scores, std::min(range.getMaxMagnitude(), usualScore));
  }
  return getStepBeside(masks.lookup(masked).size, 24) / 2 < scores;
}

/// The mask in the sum that a node or its branches read; null if none does.
const Mask *MaskSumFinder::findReadSum(Operation *node) const {
  SmallVector<Value> read(node->getOperands());
  for (Region &region : node->getRegions())
    if (YieldOp yield = getYield(region))
      llvm::append_range(read, yield->getOperands());
  for (Value value : read)
    if (auto it = sums.find(value); it != sums.end())
      return &it->second;
  return nullptr;
}

void MaskSumFinder::mark(Operation *node, const Mask &mask) {
  std::string reason = "sum with a mask of " + formatNumber(mask.number);
  if (StringRef name = getValueName(mask.source); !name.empty())
    reason += " ('" + name.str() + "')";
  reason += ", beside which " + lowName.str() + " steps by " +
            formatNumber(getStepBeside(mask.lowSize, lowBits));
  found.push_back({node, std::move(reason)});
}

/// Visits a node that reads a sum on the way to the softmax, or takes its
/// exponential.
void MaskSumFinder::visitReader(Operation *node, Mask mask) {
  mark(node, mask);
  switch (getStep(node)) {
  case MaskStep::Softmax:
  case MaskStep::LogSoftmax:
  case MaskStep::Exponentials:
    return;
  case MaskStep::Subtracts:
    // The difference of two sums with masks is a difference of scores.
    if (llvm::all_of(node->getOperands(),
                     [&](Value operand) { return sums.contains(operand); }))
      return;
    break;
  default:
    break;
  }
  for (OpResult result : node->getResults())
    sums[result] = mask;
}

void MaskSumFinder::visit(Operation *node) {
  MaskStep step = getStep(node);
  if (step == MaskStep::Ends || step == MaskStep::Attention)
    return;
  bool isReaching = llvm::any_of(node->getResults(), [&](OpResult result) {
    return reaching.contains(result);
  });
  if (isReaching)
    for (OpResult result : node->getResults())
      if (Mask mask = getMask(node, result.getResultNumber()); mask.size)
        masks[result] = mask;
  bool readsForSoftmax =
      isReaching || step == MaskStep::Softmax || step == MaskStep::LogSoftmax ||
      step == MaskStep::Exponentials || step == MaskStep::ReduceMax;
  if (const Mask *mask = readsForSoftmax ? findReadSum(node) : nullptr)
    return visitReader(node, *mask);
  if (step != MaskStep::Adds && step != MaskStep::Subtracts)
    return;
  for (Value operand : node->getOperands())
    if (masks.contains(operand) && isReaching && losesScores(node, operand)) {
      Mask mask = masks.lookup(operand);
      sums[node->getResult(0)] = mask;
      return mark(node, mask);
    }
}

/// Before IR 4, every constant is the default of an input.
void MaskSumFinder::addDefaults() {
  auto graph = dyn_cast<GraphOp>(scope);
  if (!graph)
    return;
  for (auto [argument, initializer] : collectDefaults(graph))
    if (llvm::any_of(argument.getUses(),
                     [&](OpOperand &use) { return reachesSoftmax(use); }))
      if (Mask mask = getConstantMask(initializer); mask.size)
        masks[argument] = mask;
}

std::vector<MaskSum> MaskSumFinder::run() {
  std::vector<Operation *> ops;
  scope->walk<WalkOrder::PostOrder>([&](Operation *op) {
    if (isNode(op) || isa<InitializerOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : llvm::reverse(ops))
    for (OpResult result : op->getResults())
      if (llvm::any_of(result.getUses(),
                       [&](OpOperand &use) { return reachesSoftmax(use); }))
        reaching.insert(result);
  addDefaults();
  if (reaching.empty())
    return {};
  for (Operation *op : ops) {
    if (isConstant(op)) {
      if (reaching.contains(op->getResult(0)))
        if (Mask mask = getConstantMask(op); mask.size)
          masks[op->getResult(0)] = mask;
      continue;
    }
    if (isContraction(op) || llvm::any_of(op->getOperands(), [&](Value value) {
          return computed.contains(value);
        }))
      for (OpResult result : op->getResults())
        if (isF32Tensor(result.getType()))
          computed.insert(result);
    visit(op);
  }
  return std::move(found);
}

std::vector<MaskSum> findMaskSums(Operation *scope, RangeAnalysis &ranges,
                                  ElementKind low) {
  return MaskSumFinder(scope, ranges, low).run();
}

} // namespace mp
