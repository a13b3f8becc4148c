//===- GuardFinder.cpp - Guards of divisions ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A guard counts as lost below the smallest normal number of the 16-bit type
// (fp16: 6.1e-5). Below that, precision decreases bit by bit until nothing is
// left at 3e-8; a model that adds 1e-5 to a divisor needs the guard to act. A
// bound just below one is lost where it rounds to one. Guards are followed
// forward in one pass over the nodes; the path back is marked when a guarded
// node is met, each link once.
//
//===----------------------------------------------------------------------===//

#include "HazardFinders.h"
#include "SensitivityContext.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// True if facts about operands hold for the results. If the result combines
/// several operands (Concat, scatters), the facts hold for a part of it, which
/// is in the same danger.
static bool passesOn(const OperatorTraits &traits) {
  switch (traits.math) {
  case OperatorMath::Cast:
    return true;
  case OperatorMath::Other:
  case OperatorMath::Abs:
  case OperatorMath::Neg:
    return traits.has(Exact) || traits.has(Within);
  default:
    return traits.has(Within);
  }
}

/// The least magnitude of a value that is tiny, never zero and of one sign; 0
/// for other values.
double GuardFinder::getTiny(Value value) {
  if (!isNarrowFloat(value.getType()))
    return 0;
  const Interval &range = ranges.get(value);
  if (range.lo > 0 && range.hi < limits.minNormal)
    return range.lo;
  return range.hi < 0 && range.lo > -limits.minNormal ? -range.hi : 0;
}

unsigned GuardFinder::addLink(Operation *node, bool losesGuard,
                              ArrayRef<unsigned> from) {
  Link link{node, losesGuard, false, links[from[0]].guard,
            links[from[0]].number};
  link.from.append(from.begin(), from.end());
  links.push_back(std::move(link));
  return links.size() - 1;
}

//===----------------------------------------------------------------------===//
// Starts of guards
//===----------------------------------------------------------------------===//

void GuardFinder::begin(Operation *node, Value guard, double least,
                        double gap) {
  Guard &entry = guards[node->getResult(0)];
  Link link{node, true, false, guard, least ? least : gap};
  links.push_back(link);
  if (least) {
    entry.least = least;
    entry.link = links.size() - 1;
  } else {
    entry.gap = gap;
    entry.gapLink = links.size() - 1;
  }
}

/// `guard` is tiny, and `other` may be zero.
void GuardFinder::startTiny(Operation *node, Value guard, Value other) {
  double least = getTiny(guard);
  if (!least)
    return;
  const Interval &range = ranges.get(other);
  if (range.lo < limits.minNormal && range.hi > -limits.minNormal)
    begin(node, guard, least, 0);
}

void GuardFinder::startGap(Operation *node, Value bound) {
  if (!isNarrowFloat(bound.getType()))
    return;
  double gap = 1 - ranges.get(bound).hi;
  if (gap > 0 && gap <= limits.roundoffBelowOne)
    begin(node, bound, 0, gap);
}

/// Handles the bounds of a Clip from before opset 11.
void GuardFinder::startAttributes(Operation *node) {
  if (auto min = node->getAttrOfType<FloatAttr>("min"))
    if (isTiny(min.getValueAsDouble()) && min.getValueAsDouble() > 0)
      begin(node, {}, min.getValueAsDouble(), 0);
  if (auto max = node->getAttrOfType<FloatAttr>("max")) {
    double gap = 1 - max.getValueAsDouble();
    if (gap > 0 && gap <= limits.roundoffBelowOne)
      begin(node, {}, 0, gap);
  }
}

//===----------------------------------------------------------------------===//
// Propagation of guards
//===----------------------------------------------------------------------===//

void GuardFinder::move(Operation *node, Value from) {
  auto results = llvm::make_filter_range(node->getResults(), [](Value value) {
    return isNarrowFloat(value.getType());
  });
  if (auto peak = peaks.find(from); peak != peaks.end()) {
    auto copy = peak->second;
    for (Value to : results)
      peaks[to] = copy;
  }
  auto it = guards.find(from);
  if (it == guards.end())
    return;
  Guard guard = it->second;
  if (guard.least)
    guard.link = addLink(node, isTiny(guard.least), guard.link);
  if (guard.gap)
    guard.gapLink = addLink(node, true, guard.gapLink);
  for (Value to : results)
    guards[to] = guard;
}

/// The product of two guarded values, or of one and a number.
void GuardFinder::multiply(Operation *node) {
  Value a = node->getOperand(0), b = node->getOperand(1);
  Guard left = guards.lookup(a), right = guards.lookup(b);
  if (!left.least) {
    std::swap(left, right);
    std::swap(a, b);
  }
  if (!left.least)
    return;
  double least = 0;
  SmallVector<unsigned, 2> from = {left.link};
  if (right.least) {
    least = left.least * right.least;
    from.push_back(right.link);
  } else if (const Interval &range = ranges.get(b); range.lo == range.hi) {
    least = left.least * std::fabs(range.lo);
  }
  if (!least)
    return;
  Guard guard;
  guard.least = least;
  guard.link = addLink(node, isTiny(least) || isTiny(left.least), from);
  guards[node->getResult(0)] = guard;
}

/// Handles 1 - x if a bound keeps x off one.
void GuardFinder::subtractFromOne(Operation *node) {
  auto it = guards.find(node->getOperand(1));
  if (it == guards.end() || !it->second.gap)
    return;
  const Interval &one = ranges.get(node->getOperand(0));
  if (one.lo != 1 || one.hi != 1)
    return;
  Guard guard;
  guard.least = it->second.gap;
  guard.link = addLink(node, true, it->second.gapLink);
  guards[node->getResult(0)] = guard;
}

//===----------------------------------------------------------------------===//
// Guarded nodes
//===----------------------------------------------------------------------===//

void GuardFinder::need(unsigned link, Operation *guarded) {
  SmallVector<unsigned> worklist = {link};
  while (!worklist.empty()) {
    Link &next = links[worklist.pop_back_val()];
    if (next.isNeeded)
      continue;
    next.isNeeded = true;
    worklist.append(next.from.begin(), next.from.end());
    if (!next.losesGuard)
      continue;
    std::string name =
        next.guard ? "'" + getValueName(next.guard).str() + "'" : "a bound";
    hazards.add(next.node, name + " keeps " + describe(guarded) +
                               " off zero by " + formatNumber(next.number) +
                               ", which " + limits.name.str() +
                               " does not hold in full");
  }
}

/// A root makes tiny guards larger: nodes after it may be 16 bit again.
void GuardFinder::takeRoot(Operation *node, double power) {
  auto it = guards.find(node->getOperand(0));
  if (it == guards.end() || !it->second.least)
    return;
  Guard guard = it->second;
  double least = std::pow(guard.least, power);
  guard.gap = 0;
  guard.link = addLink(node, isTiny(guard.least) || isTiny(least), guard.link);
  guard.least = least;
  need(guard.link, node);
  guards[node->getResult(0)] = guard;
}

/// Handles a result that is `operand` to the power of -`power`, times the known
/// range of the numerator.
void GuardFinder::invert(Operation *node, unsigned operand, double power) {
  auto it = guards.find(node->getOperand(operand));
  if (it == guards.end() || !it->second.least)
    return;
  double least = it->second.least;
  unsigned link = addLink(node, isTiny(least), it->second.link);
  need(link, node);
  if (!power)
    return;
  double peak = std::pow(least, -power);
  if (operand == 1 && power == 1 && isStandardOp(node, "Div")) {
    const Interval &numerator = ranges.get(node->getOperand(0));
    peak = numerator.isBounded() ? peak * numerator.getReached() : 0;
  }
  if (peak <= limits.max)
    return;
  // The peak is out of range: neither this node nor its users hold it.
  peaks[node->getResult(0)] = {peak, link};
  links[link].losesGuard = true;
  hazards.add(node, "its result reaches " + formatNumber(peak) + ", " +
                        limits.name.str() + " ends at " +
                        formatNumber(limits.max));
}

void GuardFinder::readPeaks(Operation *node) {
  for (Value operand : node->getOperands())
    if (auto it = peaks.find(operand); it != peaks.end())
      hazards.add(node, "operand '" + getValueName(operand).str() +
                            "' reaches " + formatNumber(it->second.first) +
                            ", " + limits.name.str() + " ends at " +
                            formatNumber(limits.max));
}

/// Starts a guard at a node that makes the least magnitude of a value tiny or
/// keeps the value off one.
void GuardFinder::start(Operation *node, OperatorMath math) {
  OperandRange operands = node->getOperands();
  switch (math) {
  case OperatorMath::Add:
  case OperatorMath::Sub:
  case OperatorMath::Max:
    if (operands.size() != 2)
      return;
    startTiny(node, operands[0], operands[1]);
    return startTiny(node, operands[1], operands[0]);
  case OperatorMath::Min:
    for (Value operand : operands)
      startGap(node, operand);
    return;
  case OperatorMath::Clip:
    if (operands.size() > 1)
      startTiny(node, operands[1], operands[0]);
    if (operands.size() > 2)
      startGap(node, operands[2]);
    return startAttributes(node);
  case OperatorMath::Where:
    if (operands.size() != 3)
      return;
    startTiny(node, operands[1], operands[2]);
    return startTiny(node, operands[2], operands[1]);
  default:
    return;
  }
}

void GuardFinder::takePower(Operation *node) {
  const Interval exponent = ranges.get(node->getOperand(1));
  if (exponent.lo != exponent.hi)
    return;
  if (exponent.lo < 0)
    return invert(node, 0, -exponent.lo);
  if (exponent.lo > 0 && exponent.lo < 1)
    takeRoot(node, exponent.lo);
}

/// Propagates guards through a node, and marks them at nodes that need them.
void GuardFinder::follow(Operation *node, OperatorMath math) {
  bool isBinary = node->getNumOperands() == 2;
  switch (math) {
  case OperatorMath::Clip:
    return move(node, node->getOperand(0));
  case OperatorMath::Sub:
    return isBinary ? subtractFromOne(node) : void();
  case OperatorMath::Mul:
    return isBinary ? multiply(node) : void();
  case OperatorMath::Pow:
    return isBinary ? takePower(node) : void();
  case OperatorMath::Sqrt:
    return takeRoot(node, 0.5);
  case OperatorMath::Log:
    return invert(node, 0, 0);
  case OperatorMath::Div:
  case OperatorMath::Reciprocal:
    return invert(node, node->getNumOperands() - 1, 1);
  default:
    return;
  }
}

void GuardFinder::visit(Operation *node) {
  if (!peaks.empty())
    readPeaks(node);
  if (node->getNumOperands() == 0)
    return;
  const OperatorTraits &traits = kinds.lookup(node);
  if (passesOn(traits)) {
    for (Value operand : llvm::reverse(node->getOperands()))
      move(node, operand);
    return;
  }
  if (node->getNumResults() != 1 ||
      !isNarrowFloat(node->getResult(0).getType()))
    return;
  follow(node, traits.math);
  start(node, traits.math);
}

} // namespace mp
