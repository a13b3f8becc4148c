//===- ObservedValues.cpp - Values to measure in data ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Data/ObservedValues.h"

#include "mp-opt/Dialect/ONNX/Nodes.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/Constants.h"

#include "../Patterns/MaskSteps.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static bool isFloatTensor(Type type) {
  Type element = getTensorElementType(type);
  return element && isa<FloatType>(element) &&
         element.getIntOrFloatBitWidth() >= 16;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// True if elements of the operand are among those of the node's result, plus
/// or times others.
static bool passesMask(Operation *node) {
  switch (getMaskStep(node)) {
  case MaskStep::Moves:
  case MaskStep::Casts:
  case MaskStep::Chooses:
  case MaskStep::Adds:
  case MaskStep::Subtracts:
  case MaskStep::Multiplies:
  case MaskStep::Divides:
    return true;
  default:
    return false;
  }
}

static bool endsInSoftmax(Operation *node) {
  switch (getMaskStep(node)) {
  case MaskStep::Softmax:
  case MaskStep::LogSoftmax:
  case MaskStep::Exponentials:
  case MaskStep::Attention:
    return true;
  default:
    return false;
  }
}

/// True for constants with elements that mask.
static bool holdsMaskElements(Operation *constant, ConstantRange &constants) {
  if (!constant || !isConstant(constant) ||
      !isF32Tensor(constant->getResult(0).getType()))
    return false;
  const ConstantFacts &facts = constants.getFacts(constant);
  return facts.isKnown && (facts.infinities || facts.lo <= maskElement);
}

/// The values through which a mask of a constant reaches a softmax.
static llvm::DenseSet<Value> findMaskedValues(GraphOp graph) {
  ConstantRange constants(ElementKind::Float16);
  Block &block = graph.getBody().front();
  // Backward from softmaxes.
  llvm::DenseSet<Value> reaching, masked;
  for (Operation &op : llvm::reverse(block)) {
    if (!isNode(&op))
      continue;
    bool reaches =
        endsInSoftmax(&op) ||
        (passesMask(&op) && llvm::any_of(op.getResults(), [&](Value result) {
           return reaching.contains(result);
         }));
    if (reaches)
      reaching.insert(op.operand_begin(), op.operand_end());
  }
  // Forward from constants. The elements of an input are never ignored.
  for (Operation &op : block) {
    if (!isNode(&op) || isConstant(&op) || !passesMask(&op))
      continue;
    bool isMasked = llvm::any_of(op.getOperands(), [&](Value operand) {
      return masked.contains(operand) ||
             holdsMaskElements(operand.getDefiningOp(), constants);
    });
    for (OpResult result : op.getResults())
      if (isMasked && reaching.contains(result))
        masked.insert(result);
  }
  return masked;
}

//===----------------------------------------------------------------------===//
// Divisors
//===----------------------------------------------------------------------===//

bool dividesBy(OpOperand &use) {
  Operation *node = use.getOwner();
  if (!isNode(node))
    return false;
  unsigned index = use.getOperandNumber();
  switch (getOperatorTraits(node).math) {
  case OperatorMath::Div:
    return index == 1;
  case OperatorMath::Reciprocal:
  case OperatorMath::Log:
    return index == 0;
  case OperatorMath::Pow: {
    auto exponent = getConstantFloat(node->getOperand(1));
    return index == 0 && exponent && *exponent < 0;
  }
  case OperatorMath::Sqrt:
    return isDivisor(node->getResult(0));
  default:
    return false;
  }
}

bool isDivisor(Value value) {
  SmallVector<Value> queue{value};
  llvm::DenseSet<Value> seen;
  while (!queue.empty()) {
    Value next = queue.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (OpOperand &use : next.getUses()) {
      Operation *node = use.getOwner();
      if (!isNode(node))
        continue;
      const OperatorTraits &traits = getOperatorTraits(node);
      if (traits.math == OperatorMath::Sqrt || traits.movesData() ||
          traits.math == OperatorMath::Cast)
        queue.append(node->result_begin(), node->result_end());
      else if (dividesBy(use))
        return true;
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

static InnerSum getInnerSum(Operation *node, const OperatorTraits &traits) {
  if (isStandardOp(node, "AveragePool"))
    return InnerSum::Mean;
  bool isLong = traits.accumulation == AccumulationExtent::Axes ||
                traits.accumulation == AccumulationExtent::Space;
  if (!isLong)
    return InnerSum::None;
  switch (traits.math) {
  case OperatorMath::Sum:
    return InnerSum::Sum;
  case OperatorMath::SumAbs:
  case OperatorMath::SumSquare:
    return InnerSum::Magnitudes;
  case OperatorMath::RootSumSquare:
    return InnerSum::Root;
  case OperatorMath::Mean:
    return InnerSum::Mean;
  default:
    return InnerSum::None;
  }
}

std::vector<ObservedValue> findObservedValues(GraphOp graph) {
  llvm::DenseSet<Value> masked = findMaskedValues(graph);
  std::vector<ObservedValue> found;
  for (Operation &op : graph.getBody().front()) {
    if (!isNode(&op) || isConstant(&op))
      continue;
    const OperatorTraits &traits = getOperatorTraits(&op);
    if (traits.kind == OperatorKind::Movement)
      continue;
    for (OpResult result : op.getResults())
      if (isFloatTensor(result.getType()))
        found.push_back({result, masked.contains(result), isDivisor(result),
                         result.getResultNumber() ? InnerSum::None
                                                  : getInnerSum(&op, traits)});
  }
  return found;
}

} // namespace mp
