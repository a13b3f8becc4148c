//===- UnboundedInputs.cpp - Squares of inputs of unknown range -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes in one forward pass whether a value is as large as an input, as
// large as a power or a long sum of one, or neither.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Analysis/UnboundedInputs.h"

#include "Carry.h"
#include "SmallConstants.h"
#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Graph/Parameters.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

class PowerFinder {
public:
  PowerFinder(GraphOp graph, RangeAnalysis &ranges,
              llvm::function_ref<bool(Operation *)> isLow)
      : graph(graph), ranges(ranges), isLow(isLow), schemas(graph),
        parameters(collectParameters(graph)) {}

  std::vector<UnboundedPower> run();

private:
  /// The input that a value comes from, and whether the value is a power.
  struct Origin {
    Value input = {};
    bool isPower = false;
  };

  Origin getOperand(Operation *node, unsigned index) const;
  bool isKnownFactor(Value value);
  Value findSquared(Operation *node, Carry carry);
  bool sumsMany(Operation *node);
  Origin getProduct(Operation *node, bool divides);
  Origin getOrigin(Operation *node, Carry carry);
  bool readsPower(Operation *node);
  void visit(Operation *node);

  GraphOp graph;
  RangeAnalysis &ranges;
  llvm::function_ref<bool(Operation *)> isLow;
  SchemaCache schemas;
  OperatorTraitsCache kinds;
  const llvm::DenseSet<Value> parameters;
  llvm::DenseMap<const void *, Carry> carries;
  llvm::DenseMap<Value, Origin> origins;
  std::vector<UnboundedPower> found;
};

} // namespace

/// A sum of more inputs than this counts as long.
static constexpr int64_t longSum = 64;

PowerFinder::Origin PowerFinder::getOperand(Operation *node,
                                            unsigned index) const {
  return index < node->getNumOperands()
             ? origins.lookup(node->getOperand(index))
             : Origin();
}

/// True for a constant, a parameter, or a bounded value: a factor of this kind
/// leaves magnitudes as they are.
bool PowerFinder::isKnownFactor(Value value) {
  Operation *source = value.getDefiningOp();
  return parameters.contains(value) || (source && isConstant(source)) ||
         ranges.get(value).isBounded();
}

bool PowerFinder::sumsMany(Operation *node) {
  auto type = dyn_cast<RankedTensorType>(node->getOperand(0).getType());
  auto axes = getReducedAxes(node);
  if (!type || !axes)
    return true;
  int64_t count = 1;
  for (int64_t axis : *axes) {
    if (axis >= type.getRank() || type.isDynamicDim(axis))
      return true;
    count = std::min(count * type.getDimSize(axis), longSum + 1);
  }
  return count > longSum;
}

/// The input of which the node computes a power or a long sum; null if none.
Value PowerFinder::findSquared(Operation *node, Carry carry) {
  const OperatorTraits &traits = kinds.lookup(node);
  Value first = getOperand(node, 0).input;
  if (traits.reduces()) {
    bool squares = traits.math == OperatorMath::SumSquare ||
                   traits.math == OperatorMath::RootSumSquare;
    bool sums =
        traits.math == OperatorMath::Sum || traits.math == OperatorMath::SumAbs;
    return first && (squares || (sums && sumsMany(node))) ? first : Value();
  }
  if (traits.math == OperatorMath::Pow) {
    auto exponent = getUniformConstant(node->getOperand(1));
    return exponent && *exponent >= 2 ? first : Value();
  }
  if (traits.math != OperatorMath::Mul && carry != Carry::Contracts)
    return {};
  // Only the factors count; further operands are added, or are states.
  return first && first == getOperand(node, 1).input ? first : Value();
}

/// The origin of a product or a quotient: that of an operand if the other
/// operand has a known range.
PowerFinder::Origin PowerFinder::getProduct(Operation *node, bool divides) {
  for (unsigned index = 0; index < (divides ? 1u : 2u); ++index)
    if (Origin origin = getOperand(node, index); origin.input)
      return isKnownFactor(node->getOperand(1 - index)) ? origin : Origin();
  return {};
}

PowerFinder::Origin PowerFinder::getOrigin(Operation *node, Carry carry) {
  if (Value input = findSquared(node, carry))
    // A root of the power is as large as the input again.
    return {input, kinds.lookup(node).math != OperatorMath::RootSumSquare};
  switch (carry) {
  case Carry::Drops:
  case Carry::Contracts:
    return {};
  case Carry::Scales:
    return getProduct(node, /*divides=*/false);
  case Carry::Divides:
    return getProduct(node, /*divides=*/true);
  case Carry::Bounds:
  case Carry::Keeps:
    break;
  }
  Origin largest;
  for (Value operand : node->getOperands())
    if (Origin origin = origins.lookup(operand);
        origin.input && (!largest.input || origin.isPower))
      largest = origin;
  return largest;
}

/// True if a list or the cost, rather than the user by name, has made the node
/// 16 bit.
static bool isAssignedLow(Operation *node) {
  Type type = getPrecisionType(node);
  ClassAttr held = getClass(node);
  return type && !type.isF32() && !(held && held.getIsOverride());
}

bool PowerFinder::readsPower(Operation *node) {
  FloatSignature signature(node, schemas.lookup(node).schema);
  for (unsigned index = 0; index < node->getNumOperands(); ++index)
    if (getOperand(node, index).isPower && signature.hasOperand(index))
      return true;
  return false;
}

void PowerFinder::visit(Operation *node) {
  auto [it, isNew] = carries.try_emplace(node->getName().getAsOpaquePointer());
  if (isNew)
    it->second = getCarry(getOperatorTraits(node));
  Origin origin = getOrigin(node, it->second);
  Value squared = findSquared(node, it->second);
  if (isLow(node) && (squared || origin.isPower || readsPower(node))) {
    Value input = origin.input;
    for (Value operand : node->getOperands())
      if (Origin read = origins.lookup(operand); !input && read.isPower)
        input = read.input;
    found.push_back({node, input});
  }
  if (!origin.input)
    return;
  for (OpResult result : node->getResults())
    if (isF32Tensor(result.getType()) && !ranges.get(result).isBounded())
      origins[result] = origin;
}

std::vector<UnboundedPower> PowerFinder::run() {
  for (BlockArgument argument : graph.getBody().getArguments())
    if (isF32Tensor(argument.getType()) && !parameters.contains(argument) &&
        !ranges.get(argument).isBounded())
      origins[argument] = {argument, false};
  graph.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isNode(op) && !isConstant(op))
      visit(op);
  });
  return std::move(found);
}

std::vector<UnboundedPower> findUnboundedPowers(GraphOp graph,
                                                RangeAnalysis &ranges) {
  return PowerFinder(graph, ranges, isAssignedLow).run();
}

std::vector<UnboundedPower>
findUnboundedPowers(GraphOp graph, RangeAnalysis &ranges,
                    llvm::function_ref<bool(Operation *)> isLow) {
  return PowerFinder(graph, ranges, isLow).run();
}

} // namespace mp
