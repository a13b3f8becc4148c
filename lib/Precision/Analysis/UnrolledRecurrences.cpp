//===- UnrolledRecurrences.cpp - Chains of factors near one ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A factor within 16 u of one, such as the decay of an average, keeps only the
// first digits of its difference from one. Repeated, the error grows with the
// power: 0.99 is 0.9883 in bf16, and its 64th power is 11 % less. The chain may
// pass through sums and data movement; products and functions end it. A forward
// pass finds the longest chain to each value; a backward pass finds the longest
// through it.
//
//===----------------------------------------------------------------------===//

#include "SensitivityContext.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// A chain of at least this many factors is a recurrence.
static constexpr unsigned minFactors = 3;

/// True for a constant with all elements near one, but not one.
static bool isNearOne(SensitivityContext &context, Value value) {
  if (!context.isConstantValue(value))
    return false;
  const Interval &range = context.ranges.get(value);
  double distance = 16 * 2 * context.limits.roundoffBelowOne;
  return range.isWithin(1 - distance, 1 + distance) &&
         (range.lo != 1 || range.hi != 1);
}

/// True if the op passes a chain on: sums, and ops that move or keep elements.
static bool passesOn(SensitivityContext &context, Operation *op) {
  const OperatorTraits &traits = context.getTraits(op);
  OperatorMath math = context.getMath(op);
  return traits.movesData() || traits.kind == OperatorKind::Combination ||
         (traits.isElementwise() &&
          (traits.has(Exact) || math == OperatorMath::Add ||
           math == OperatorMath::Sub || math == OperatorMath::Mul));
}

void findUnrolledRecurrences(SensitivityContext &context) {
  llvm::DenseMap<Value, unsigned> before, through;
  std::vector<Operation *> links;
  for (Operation *op : context.flow.getOps()) {
    if (!isNode(op) || op->getNumRegions() || !passesOn(context, op))
      continue;
    unsigned length = 0;
    for (Value operand : op->getOperands())
      length = std::max(length, before.lookup(operand));
    bool isFactor = context.getMath(op) == OperatorMath::Mul &&
                    llvm::any_of(op->getOperands(), [&](Value operand) {
                      return isNearOne(context, operand);
                    });
    length += isFactor;
    if (!length)
      continue;
    links.push_back(op);
    for (Value result : op->getResults())
      before[result] = through[result] = length;
  }
  for (Operation *op : llvm::reverse(links)) {
    unsigned length = 0;
    for (Value result : op->getResults())
      length = std::max(length, through.lookup(result));
    for (Value operand : op->getOperands())
      if (auto it = through.find(operand); it != through.end())
        it->second = std::max(it->second, length);
    if (length >= minFactors)
      context.found.hazards.add(op, "one of a chain of " +
                                        std::to_string(length) +
                                        " factors near one, each of which " +
                                        context.limits.name.str() + " rounds");
  }
}

} // namespace mp
