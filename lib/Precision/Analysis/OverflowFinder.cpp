//===- OverflowFinder.cpp - Values that leave the range -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values overflow in two ways. A range may prove it: some element certainly
// lies beyond the 16-bit range. Or the value contains a constant that 16 bit
// does not hold, added, chosen or moved, while the rest of the value is
// unknown: then no node may narrow the value, up to a node whose result is
// another quantity. If the constant is only a factor, the size of the product
// is unknown; this keeps elementwise neighbours fp32, but not contractions.
// Values that are proved to overflow count like such constants for the values
// computed from them.
//
//===----------------------------------------------------------------------===//

#include "HazardFinders.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

OverflowFinder::OverflowFinder(Operation *scope, RangeAnalysis &ranges,
                               ElementKind low, Hazards &hazards)
    : ranges(ranges), limits(low), hazards(hazards), schemas(scope) {}

Carry OverflowFinder::lookupCarry(Operation *node) {
  auto [it, isNew] = carries.try_emplace(node->getName().getAsOpaquePointer());
  if (isNew)
    it->second = getCarry(getOperatorTraits(node));
  return it->second;
}

static double getExtreme(const ConstantFacts &facts) {
  return -facts.lo > facts.hi ? facts.lo : facts.hi;
}

OverflowFinder::Origin OverflowFinder::getOrigin(Value value, Carry carry,
                                                 unsigned index) {
  // A large divisor makes the result small.
  if (carry == Carry::Divides && index)
    return {};
  bool isFactor = carry == Carry::Scales || carry == Carry::Divides ||
                  carry == Carry::Contracts;
  Trace trace = isFactor ? Trace::Scaled : Trace::Contained;
  if (auto it = overflowing.find(value); it != overflowing.end())
    return {trace, value, it->second};
  Operation *op = value.getDefiningOp();
  if (!op || !isConstant(op)) {
    Origin origin = origins.lookup(value);
    return carry == Carry::Contracts && origin.trace == Trace::Scaled ? Origin()
           : isFactor && origin.trace == Trace::Contained
               ? Origin{trace, origin.source, origin.number}
               : origin;
  }
  // A bound tells nothing about the bounded value; weights are not read for
  // this.
  if (carry == Carry::Bounds || carry == Carry::Contracts)
    return {};
  const ConstantFacts &facts = ranges.getConstants().getFacts(op);
  if (!facts.overflows || getClamp(op))
    return {};
  return {trace, value, getExtreme(facts)};
}

/// True if operand `index` is 16 bit when the node is.
bool OverflowFinder::isRead16Bit(Operation *node, unsigned index) {
  return FloatSignature(node, schemas.lookup(node).schema).hasOperand(index);
}

void OverflowFinder::visitOperand(Operation *node, Carry carry,
                                  unsigned index) {
  Value value = node->getOperand(index);
  std::string reason;
  bool isPossibility = false;
  Operation *source = value.getDefiningOp();
  if (source && isConstant(source)) {
    const ConstantFacts &facts = ranges.getConstants().getFacts(source);
    if (facts.isKnown)
      reason = ranges.getConstants().explain(source);
  } else if (auto it = overflowing.find(value); it != overflowing.end()) {
    reason = "operand '" + getValueName(value).str() + "' reaches " +
             formatNumber(it->second) + ", " + limits.name.str() + " ends at " +
             formatNumber(limits.max);
  } else if (Origin origin = origins.lookup(value);
             origin.trace == Trace::Contained ||
             (origin.trace == Trace::Scaled && carry != Carry::Contracts)) {
    isPossibility = true;
    reason = "operand '" + getValueName(value).str() + "' is made of '" +
             getValueName(origin.source).str() + "' (" +
             formatNumber(origin.number) + "), " + limits.name.str() +
             " ends at " + formatNumber(limits.max);
  }
  if (!reason.empty() && isRead16Bit(node, index))
    hazards.add(node, std::move(reason), isPossibility);
}

/// The largest trace among the operands.
OverflowFinder::Origin OverflowFinder::findOrigin(Operation *node,
                                                  Carry carry) {
  Origin origin;
  if (carry == Carry::Drops)
    return origin;
  for (auto [index, operand] : llvm::enumerate(node->getOperands())) {
    if (!isF32Tensor(operand.getType()))
      continue;
    Origin next = getOrigin(operand, carry, index);
    if (next.trace > origin.trace)
      origin = next;
  }
  return origin;
}

void OverflowFinder::visitResults(Operation *node, Carry carry) {
  Origin origin = findOrigin(node, carry);
  for (OpResult result : node->getResults()) {
    if (!isF32Tensor(result.getType()))
      continue;
    const Interval &range = ranges.get(result);
    if (double reached = range.getReached(); reached >= limits.overflow) {
      overflowing[result] = reached;
      hazards.add(node, "result '" + getValueName(result).str() + "' reaches " +
                            formatNumber(reached) + ", " + limits.name.str() +
                            " ends at " + formatNumber(limits.max));
    } else if (origin.trace != Trace::None &&
               !range.isWithin(-limits.max, limits.max)) {
      origins[result] = origin;
    }
  }
}

void OverflowFinder::visit(Operation *node) {
  if (isConstant(node))
    return;
  Carry carry = lookupCarry(node);
  for (auto [index, operand] : llvm::enumerate(node->getOperands())) {
    if (!isF32Tensor(operand.getType()))
      continue;
    // The weights of contractions are read only if the contraction would be 16
    // bit.
    Operation *source = operand.getDefiningOp();
    if (carry != Carry::Contracts || !source || !isConstant(source))
      visitOperand(node, carry, index);
  }
  visitResults(node, carry);
}

Hazards findHazards(Operation *scope, RangeAnalysis &ranges, ElementKind low) {
  Hazards hazards;
  OverflowFinder overflow(scope, ranges, low, hazards);
  GuardFinder guards(ranges, low, hazards);
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isNode(op))
      return;
    overflow.visit(op);
    guards.visit(op);
  });
  return hazards;
}

} // namespace mp
