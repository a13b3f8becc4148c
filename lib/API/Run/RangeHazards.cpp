//===- RangeHazards.cpp - Effects that random data hide -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One forward pass determines for each value if it depends on a float input, if
// it can be as large as the input, and if it counts something.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/RangeHazards.h"

#include "mp-opt/API/Run/Roundings.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Dialect/ONNX/Nodes.h"
#include "mp-opt/Operators/Discontinuity.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/ShapeArithmetic.h"
#include "mp-opt/Precision/Analysis/UnboundedInputs.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

class HazardFinder {
public:
  HazardFinder(GraphOp graph, ArrayRef<Rounding> roundings);

  std::string run();

private:
  struct Origin {
    /// A float input on which the value depends, and one whose magnitude it
    /// has.
    Value input = {}, large = {};
    /// True if the value is an integer from an input, possibly cast to float.
    bool counts = false;
  };

  Origin join(Operation *node) const;
  void visit(Operation *node);
  std::string describeNode(Operation *node);
  std::string describeFunction(Operation *node, Value input) const;
  bool isLow(Operation *node) const;
  bool isFunction(Operation *node) const;

  GraphOp graph;
  ConstantRange constants;
  RangeAnalysis ranges;
  bool hasFloat16 = false;
  /// Values that are rounded to 16 bit.
  llvm::StringSet<> low;
  llvm::DenseMap<Value, Origin> origins;
};

} // namespace

HazardFinder::HazardFinder(GraphOp graph, ArrayRef<Rounding> roundings)
    : graph(graph), constants(ElementKind::Float16), ranges(constants) {
  for (const Rounding &rounding : roundings) {
    hasFloat16 |= rounding.kind == ElementKind::Float16;
    for (const std::string &name : rounding.names)
      low.insert(name);
  }
  GraphEditor editor(graph);
  for (BlockArgument input : graph.getBody().getArguments()) {
    if (editor.getDefault(input))
      continue;
    bool isFloat = isFloatTensor(input.getType());
    origins[input] = {isFloat ? input : Value(), isFloat ? input : Value(),
                      !isFloat};
  }
}

bool HazardFinder::isLow(Operation *node) const {
  return llvm::any_of(node->getResults(), [&](Value result) {
    return low.contains(getValueName(result));
  });
}

//===----------------------------------------------------------------------===//
// Origins
//===----------------------------------------------------------------------===//

/// True if results are about as large as the largest operand.
static bool keepsSize(const OperatorTraits &traits) {
  switch (traits.math) {
  case OperatorMath::Abs:
  case OperatorMath::Add:
  case OperatorMath::Cast:
  case OperatorMath::Div:
  case OperatorMath::Max:
  case OperatorMath::Min:
  case OperatorMath::Mul:
  case OperatorMath::Neg:
  case OperatorMath::Sub:
  case OperatorMath::Where:
    return !traits.reduces();
  default:
    return traits.movesData() || traits.kind == OperatorKind::Combination;
  }
}

HazardFinder::Origin HazardFinder::join(Operation *node) const {
  Origin joined;
  bool keeps = keepsSize(getOperatorTraits(node));
  node->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Origin origin = origins.lookup(operand);
      if (!joined.input)
        joined.input = origin.input;
      if (keeps && !joined.large)
        joined.large = origin.large;
      joined.counts |= keeps && origin.counts;
    }
  });
  return joined;
}

//===----------------------------------------------------------------------===//
// Hazards
//===----------------------------------------------------------------------===//

/// True if the domain or the error of the node's function depends on the
/// operand's value.
bool HazardFinder::isFunction(Operation *node) const {
  const OperatorTraits &traits = getOperatorTraits(node);
  if (traits.reduces())
    return false;
  if (traits.math == OperatorMath::Pow)
    return !getConstantFloat(node->getOperand(1));
  return traits.math == OperatorMath::Exp || traits.math == OperatorMath::Log ||
         isStandardOp(node, "Sin") || isStandardOp(node, "Cos");
}

std::string HazardFinder::describeFunction(Operation *node, Value input) const {
  return describe(node) + " depends on the range of input '" +
         getValueName(input).str() + "'";
}

std::string HazardFinder::describeNode(Operation *node) {
  const OperatorTraits &traits = getOperatorTraits(node);
  bool isMade = hasDiscontinuity(node) ||
                llvm::any_of(node->getResults(), [](OpResult result) {
                  return !result.use_empty() && isDiscontinuous(result);
                });
  for (Value operand : node->getOperands()) {
    Origin origin = origins.lookup(operand);
    bool compares = traits.kind == OperatorKind::Logic;
    if (isMade && isFloatTensor(operand.getType()) &&
        (compares ? origin.large : origin.input))
      return describe(node) + (compares
                                   ? " compares floats with input '" +
                                         getValueName(origin.large).str() + "'"
                                   : " makes integers or steps of floats");
    if (!isFunction(node))
      continue;
    if (origin.large && !ranges.get(operand).isBounded())
      return describeFunction(node, origin.large);
    Operation *source = operand.getDefiningOp();
    if (origin.counts && source && isLow(source))
      return describe(source) + " computes positions in 16 bit";
  }
  return "";
}

void HazardFinder::visit(Operation *node) {
  if (!readsElements(node))
    return;
  Origin origin = join(node);
  for (OpResult result : node->getResults()) {
    origins[result] = origin;
    if (ranges.get(result).isBounded())
      origins[result].large = {};
  }
}

std::string HazardFinder::run() {
  for (Operation &node : graph.getBody().getOps()) {
    if (!isNode(&node) || isConstant(&node))
      continue;
    if (std::string hazard = describeNode(&node); !hazard.empty())
      return hazard;
    visit(&node);
  }
  for (Operation *node :
       findShapeArithmetic(graph->getParentOfType<ModuleOp>()))
    if (isLow(node))
      return describe(node) + " computes sizes or positions in 16 bit";
  if (!hasFloat16)
    return "";
  auto powers = findUnboundedPowers(
      graph, ranges, [&](Operation *node) { return isLow(node); });
  if (powers.empty())
    return "";
  return describe(powers.front().node) +
         " is in fp16, which ends at 65504, and squares or sums input '" +
         getValueName(powers.front().input).str() + "'";
}

std::string describeRangeHazard(ModuleOp input, ModuleOp result) {
  std::vector<Rounding> roundings = findRoundings(result);
  if (roundings.empty())
    return "";
  return HazardFinder(getMainGraph(input), roundings).run();
}

} // namespace mp
