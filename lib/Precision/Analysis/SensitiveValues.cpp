//===- SensitiveValues.cpp - Values whose last digits decide --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the walk backward from readers. Each value is visited once per
// kind of reader and kind of path between them, so the walk is linear in the
// number of uses.
//
//===----------------------------------------------------------------------===//

#include "SensitivityContext.h"

#include "mp-opt/Graph/MultiplyAdds.h"
#include "mp-opt/Graph/Parameters.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// SensitivityContext
//===----------------------------------------------------------------------===//

SensitivityContext::SensitivityContext(ModuleOp module, RangeAnalysis &ranges,
                                       ElementKind low)
    : flow(module), depths(flow), ranges(ranges), limits(low) {
  for (Operation *scope : flow.getScopes())
    if (auto graph = dyn_cast<GraphOp>(scope))
      for (auto [argument, initializer] : collectDefaults(graph))
        defaults[argument] = initializer;
}

double SensitivityContext::getMagnitude(Value value) {
  Operation *initializer = defaults.lookup(value);
  return ranges.get(initializer ? initializer->getResult(0) : value)
      .getMaxMagnitude();
}

bool SensitivityContext::isFollowed(Operation *op) {
  if (!isNode(op) || op->getNumRegions() || isConstant(op))
    return false;
  const OperatorTraits &traits = getTraits(op);
  switch (traits.kind) {
  case OperatorKind::Elementwise:
  case OperatorKind::Movement:
  case OperatorKind::Selection:
  case OperatorKind::Combination:
  case OperatorKind::Interpolation:
  case OperatorKind::Prefix:
    return true;
  case OperatorKind::Normalization:
    // Scale and shift by statistics that are operands.
    return traits.hasRole(OperandRole::Statistics);
  default:
    return false;
  }
}

SmallVector<Value, 4> SensitivityContext::getData(Operation *op) {
  const OperatorTraits &traits = getTraits(op);
  SmallVector<Value, 4> data;
  bool hasOne =
      !traits.isElementwise() && traits.kind != OperatorKind::Combination;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (isNarrowFloat(operand.getType()) && !traits.keepsType(index) &&
        (index == 0 || !hasOne))
      data.push_back(operand);
  return data;
}

const ValueSizes &SensitivityContext::getSizes() {
  if (!sizes) {
    sizes.emplace();
    for (Operation *scope : flow.getScopes())
      sizes->add(scope);
  }
  return *sizes;
}

uint64_t SensitivityContext::countProducts(Operation *op) {
  return countMultiplyAdds(op, getTraits(op), getSizes()).value_or(0);
}

//===----------------------------------------------------------------------===//
// SensitiveWalk
//===----------------------------------------------------------------------===//

/// Products with at most this many multiply-adds are always cheap; larger ones
/// are if they are less than this part of the model's.
static constexpr uint64_t cheapProducts = 1 << 20, cheapPart = 10;
/// Products of at most this many terms are transformations of coordinates:
/// rotations, projections, interpolation.
static constexpr uint64_t maxCoordinates = 4;

void SensitiveWalk::add(Value value, SensitiveReader reader, std::string reason,
                        bool takesProducts) {
  reasons.push_back(std::move(reason));
  push(value, {value, reader, Nothing, unsigned(reasons.size() - 1)},
       takesProducts ? Nothing : Product);
}

void SensitiveWalk::push(Value value, const Step &from, Passed passed) {
  if (!isNarrowFloat(value.getType()))
    return;
  // Deep values are compared in 16 bit, as in autocast.
  if (from.reader == SensitiveReader::Choice &&
      context.depths.lookup(value) == ProductDepth::Deep)
    return;
  if (seen.insert({value, unsigned(from.reader) * 4 + passed}).second)
    worklist.push_back({value, from.reader, passed, from.reason});
}

static bool sumsProducts(const OperatorTraits &traits) {
  return traits.reduces() && (traits.math == OperatorMath::Sum ||
                              traits.math == OperatorMath::Mean);
}

/// The path from the reader to the operands of `op`. A difference needs the
/// digits of its operands only through multiples, squares and sums with
/// constants of products.
SensitiveWalk::Passed SensitiveWalk::pass(Operation *op, const Step &step) {
  const OperatorTraits &traits = context.getTraits(op);
  if (step.passed == Nothing && sumsProducts(traits))
    return Sum;
  if (step.reader != SensitiveReader::Difference || traits.movesData() ||
      traits.kind == OperatorKind::Combination ||
      traits.math == OperatorMath::Neg || traits.math == OperatorMath::Cast)
    return step.passed;
  if (traits.math == OperatorMath::Mul)
    return step.passed;
  bool isSum = traits.math == OperatorMath::Add ||
               traits.math == OperatorMath::Sub ||
               traits.math == OperatorMath::Div;
  bool isShifted = isSum && llvm::any_of(op->getOperands(), [&](Value value) {
                     return context.isConstantValue(value);
                   });
  return isShifted ? step.passed : Product;
}

/// Readers of products that stay 16 bit because of their cost also stay 16 bit.
void SensitiveWalk::mark(Operation *op, const Step &step) {
  bool depends = (step.reader == SensitiveReader::Angle ||
                  step.reader == SensitiveReader::Difference) &&
                 context.depths.lookup(op) == ProductDepth::Deep;
  if (depends)
    dependent.emplace_back(op, step.reason);
  else
    context.found.hazards.add(op, reasons[step.reason]);
}

void SensitiveWalk::visit(const Step &step) {
  for (Value source : context.flow.getSources(step.value))
    push(source, step, step.passed);
  if (auto input = dyn_cast<BlockArgument>(step.value);
      input && isa<GraphOp>(input.getOwner()->getParentOp()))
    context.found.inputs.try_emplace(input, reasons[step.reason]);
  Operation *op = step.value.getDefiningOp();
  if (!op || !isNode(op) || op->getNumRegions() || isConstant(op))
    return;
  const OperatorTraits &traits = context.getTraits(op);
  if (traits.contracts())
    return visitProduct(op, step);
  if (traits.reduces() && !sumsProducts(traits) &&
      step.reader == SensitiveReader::Difference)
    return;
  if (!context.isFollowed(op) && !traits.reduces())
    return;
  mark(op, step);
  // A product written as one, or a square.
  bool isProduct = step.passed == Sum && traits.math == OperatorMath::Mul;
  if (isProduct || traits.math == OperatorMath::SumSquare ||
      traits.math == OperatorMath::RootSumSquare)
    return;
  Passed passed = pass(op, step);
  if (traits.reduces())
    return push(op->getOperand(0), step, passed);
  for (Value operand : context.getData(op))
    push(operand, step, passed);
}

/// Products of whole numbers, expectations of positions, and transformations
/// of coordinates.
bool SensitiveWalk::isPositionArithmetic(Operation *op) {
  Value result = op->getResult(0);
  if (wholeNumbers.contains(result) ||
      llvm::any_of(op->getOperands(), [&](Value operand) {
        return wholeNumbers.isTable(operand);
      }))
    return true;
  uint64_t count = context.countProducts(op);
  int64_t elements = context.getSizes().getElements(result);
  return count && count <= maxCoordinates * uint64_t(elements);
}

SensitiveWalk::Take SensitiveWalk::takesProduct(Operation *op,
                                                const Step &step) {
  if (step.passed == Product)
    return Take::No;
  if (context.depths.lookup(op) != ProductDepth::Deep)
    return Take::Yes;
  switch (step.reader) {
  case SensitiveReader::Position:
    return isPositionArithmetic(op) ? Take::Yes : Take::No;
  case SensitiveReader::Choice:
    return Take::No;
  case SensitiveReader::Angle:
  case SensitiveReader::Difference:
    return Take::IfCheap;
  }
  return Take::No;
}

void SensitiveWalk::visitProduct(Operation *op, const Step &step) {
  Take take = takesProduct(op, step);
  if (take == Take::No)
    return;
  if (take == Take::Yes)
    context.found.hazards.add(op, reasons[step.reason]);
  else
    deep.emplace_back(op, step.reason);
  // Terms that cancel, and matrices that transform coordinates, are not rounded
  // before the product either.
  if (step.reader == SensitiveReader::Difference ||
      step.reader == SensitiveReader::Position)
    for (Value operand : op->getOperands())
      push(operand, step, Product);
}

/// Deep products are fp32 if all of them are a small part of the work.
void SensitiveWalk::settleCostly() {
  llvm::DenseSet<Operation *> counted;
  uint64_t wanted = 0, all = 0;
  for (auto [op, reason] : deep)
    if (counted.insert(op).second && context.found.hazards.lookup(op).empty())
      wanted += context.countProducts(op);
  if (wanted > cheapProducts)
    for (Operation *op : context.flow.getOps())
      if (isNode(op) && context.getTraits(op).contracts())
        all += context.countProducts(op);
  bool isCheap = wanted <= std::max(cheapProducts, all / cheapPart);
  counted.clear();
  for (auto [op, reason] : deep)
    if (isCheap)
      context.found.hazards.add(op, reasons[reason]);
    else if (counted.insert(op).second)
      context.found.costly.emplace_back(op, reasons[reason]);
  if (isCheap)
    for (auto [op, reason] : dependent)
      context.found.hazards.add(op, reasons[reason]);
}

void SensitiveWalk::run() {
  while (!worklist.empty()) {
    Step next = worklist.back();
    worklist.pop_back();
    visit(next);
  }
  settleCostly();
}

SensitiveValues findSensitiveValues(ModuleOp module, RangeAnalysis &ranges,
                                    ElementKind low) {
  SensitivityContext context(module, ranges, low);
  WholeNumbers wholeNumbers(context.flow, context.kinds);
  SensitiveWalk walk(context, wholeNumbers);
  findSensitiveReaders(context, walk);
  findNearZeroDifferences(context, walk);
  findDistances(context, walk);
  findCancellingConstants(context, walk);
  findUnrolledRecurrences(context);
  if (low == ElementKind::Float16)
    findLargeIntegers(context);
  walk.run();
  return std::move(context.found);
}

} // namespace mp
