//===- ProductDepth.cpp - Products between inputs and a value -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lookup in a table has the depth of the table's elements: an embedding is
// made of weights, which users expect in 16 bit, and its products are a model's
// ordinary work. Truth values are exact in any type, and so are floats made of
// them alone.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Analysis/ProductDepth.h"

#include "mp-opt/Graph/Parameters.h"
#include "mp-opt/Precision/Analysis/Constants.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

bool isCastOfIntegers(Operation *node) {
  if (node->getNumOperands() == 0 || node->getNumResults() == 0 ||
      getOperatorTraits(node).math != OperatorMath::Cast)
    return false;
  Type from = getTensorElementType(node->getOperand(0).getType());
  return from && from.isIntOrIndex() && !from.isIndex() &&
         from.getIntOrFloatBitWidth() > 8 &&
         isFloatTensor(node->getResult(0).getType());
}

static bool isTruth(Type type) {
  Type element = getTensorElementType(type);
  return element && element.isInteger(1);
}

ProductDepth ProductDepths::lookup(Operation *node) const {
  ProductDepth greatest = ProductDepth::Constant;
  for (Value result : node->getResults())
    greatest = std::max(greatest, lookup(result));
  return greatest;
}

ProductDepth ProductDepths::getOperands(Operation *node) const {
  ProductDepth greatest = ProductDepth::Constant;
  for (Value operand : node->getOperands())
    greatest = std::max(greatest, lookup(operand));
  return greatest;
}

ProductDepth ProductDepths::getResult(Operation *node, Value result) {
  const OperatorTraits &traits = kinds.lookup(node);
  if (isTruth(result.getType()) || isConstant(node))
    return ProductDepth::Constant;
  if (traits.looksUp()) {
    bool isChosen = node->getNumOperands() > 1 &&
                    lookup(node->getOperand(1)) != ProductDepth::Constant;
    return std::max(lookup(node->getOperand(0)),
                    isChosen ? ProductDepth::Row : ProductDepth::Constant);
  }
  ProductDepth depth = getOperands(node);
  switch (traits.kind) {
  case OperatorKind::Index:
  case OperatorKind::Generation:
    return ProductDepth::Constant;
  case OperatorKind::Opaque:
  case OperatorKind::Gradient:
  case OperatorKind::Optimizer:
    return ProductDepth::Deep;
  case OperatorKind::Quantization:
  case OperatorKind::Contraction:
    return depth == ProductDepth::Constant ? depth
           : depth == ProductDepth::Input  ? ProductDepth::FirstProduct
                                           : ProductDepth::Deep;
  default:
    return depth;
  }
}

/// Functions without a scope of their own are not analyzed; arguments of others
/// come from calls.
void ProductDepths::raiseArguments(Operation *scope) {
  auto graph = dyn_cast<GraphOp>(scope);
  if (!graph)
    return;
  llvm::DenseSet<Value> parameters = collectParameters(graph);
  for (BlockArgument argument : scope->getRegion(0).getArguments())
    if (!parameters.contains(argument) && !isTruth(argument.getType()))
      levels.raise(argument, ProductDepth::Input);
}

ProductDepths::ProductDepths(const ValueFlow &flow) : levels(flow) {
  for (Operation *scope : flow.getScopes())
    raiseArguments(scope);
  levels.run(
      [&](Operation *node, Value result) { return getResult(node, result); },
      ProductDepth::Deep);
}

} // namespace mp
