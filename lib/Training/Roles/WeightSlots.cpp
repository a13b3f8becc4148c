//===- WeightSlots.cpp - Operands that take weights -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators with interchangeable operands have a row in the first table. For
// all others, the slot follows from the name of the formal parameter, so a new
// operator needs no row.
//
//===----------------------------------------------------------------------===//

#include "WeightSlots.h"

#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Operators/NodeView.h"
#include "mp-opt/Operators/OperatorTraits.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

StringRef getFormalName(Operation *node, unsigned operand) {
  const OpSchema *schema = getSchema(node);
  const FormalParameter *formal = schema ? schema->getInput(operand) : nullptr;
  return formal ? StringRef(formal->name) : StringRef();
}

static WeightSlot getSlotOfName(StringRef opType, StringRef formal) {
  // The weights of a loss belong to its classes.
  if (opType.contains("Loss") || opType.contains("CrossEntropy"))
    return WeightSlot::None;
  bool isNorm = opType.contains("Norm");
  if (isNorm && (formal == "scale" || formal == "Scale"))
    return WeightSlot::Scale;
  auto exact =
      llvm::StringSwitch<WeightSlot>(formal)
          .Cases({"W", "R", "P", "a_log"}, WeightSlot::Weight)
          .Cases({"B", "beta"}, WeightSlot::Bias)
          .Cases({"gamma", "slope"}, WeightSlot::Scale)
          .Cases({"input_mean", "input_var", "mean", "var"},
                 WeightSlot::Statistic)
          .Cases({"initial_h", "initial_c", "initial_state"}, WeightSlot::State)
          .Cases({"attention_bias", "position_bias", "attn_mask"},
                 WeightSlot::Summand)
          .Default(WeightSlot::None);
  if (exact != WeightSlot::None)
    return exact;
  if (formal.ends_with("bias"))
    return WeightSlot::Bias;
  if (formal.ends_with("norm_weight"))
    return WeightSlot::Scale;
  if (formal.ends_with("weight") || formal.ends_with("weights"))
    return WeightSlot::Weight;
  if (formal.ends_with("embedding") || formal == "bias_table")
    return WeightSlot::Table;
  return WeightSlot::None;
}

/// The slot that follows from the operator's function; absent if none does.
static std::optional<WeightSlot> getSlotOfMath(const OperatorTraits &traits,
                                               unsigned operand) {
  switch (traits.math) {
  case OperatorMath::Add:
  case OperatorMath::Sub:
    return WeightSlot::Summand;
  case OperatorMath::Mul:
  case OperatorMath::Div:
    return WeightSlot::Factor;
  case OperatorMath::Pow:
    return operand == 1 ? WeightSlot::Factor : WeightSlot::None;
  case OperatorMath::Where:
    return operand ? WeightSlot::Choice : WeightSlot::None;
  default:
    break;
  }
  // The mean of the operands.
  if (traits.accumulation == AccumulationExtent::Operands)
    return WeightSlot::Summand;
  if (traits.looksUp())
    return operand ? WeightSlot::None : WeightSlot::Table;
  return std::nullopt;
}

/// Both operands of a matrix product may be the weight.
static std::optional<WeightSlot> getSlotOfProduct(Operation *node,
                                                  unsigned operand) {
  StringRef first = getFormalName(node, 0);
  if (first != "A" && first != "Inputs")
    return std::nullopt;
  return operand < 2 || first == "Inputs"      ? WeightSlot::Product
         : getFormalName(node, operand) == "C" ? WeightSlot::Bias
                                               : WeightSlot::None;
}

WeightSlot getWeightSlot(Operation *node, unsigned operand) {
  const OperatorTraits &traits = getOperatorTraits(node);
  if (auto slot = getSlotOfMath(traits, operand))
    return *slot;
  if (traits.contracts())
    if (auto slot = getSlotOfProduct(node, operand))
      return *slot;
  if (isStandardOp(node, "Concat"))
    return WeightSlot::Part;
  if (isStandardOp(node, "Scan") || isStandardOp(node, "Loop"))
    return operand >= (getOpType(node) == "Loop" ? 2u : 0u) ? WeightSlot::State
                                                            : WeightSlot::None;
  return getSlotOfName(getOpType(node), getFormalName(node, operand));
}

bool isConvolution(Operation *node) {
  const OpSchema *schema = getSchema(node);
  return schema && schema->getAttribute("kernel_shape") &&
         getFormalName(node, 1) == "W";
}

bool takesIndices(Operation *node, const BatchFlow &flow) {
  for (auto [index, operand] : llvm::enumerate(node->getOperands())) {
    if (flow.get(operand) != BatchFlow::Constant || !isDifferentiable(operand))
      continue;
    switch (getWeightSlot(node, index)) {
    case WeightSlot::Weight:
    case WeightSlot::Table:
      return true;
    case WeightSlot::Product:
      if (!isOuterProduct(node, index))
        return true;
      break;
    default:
      break;
    }
  }
  return false;
}

bool isOuterProduct(Operation *node, unsigned operand) {
  auto type = dyn_cast<RankedTensorType>(node->getOperand(operand).getType());
  if (!type || type.getRank() == 0 || getOpType(node) == "Einsum")
    return false;
  bool isRight = operand == 1;
  if (NodeView(node).getFlag(isRight ? "transB" : "transA"))
    isRight = !isRight;
  int64_t axis =
      isRight && type.getRank() > 1 ? type.getRank() - 2 : type.getRank() - 1;
  return type.getDimSize(axis) == 1;
}

bool carriesElements(Operation *node, unsigned operand) {
  return operand == 0 || !isNode(node) || !isStandardOp(node, "CastLike");
}

bool isRearranged(Operation *node) {
  const OperatorTraits &traits = getOperatorTraits(node);
  switch (traits.math) {
  case OperatorMath::Add:
  case OperatorMath::Cast:
  case OperatorMath::Clip:
  case OperatorMath::Div:
  case OperatorMath::Mul:
  case OperatorMath::Neg:
  case OperatorMath::Sub:
    return true;
  default:
    return (traits.movesData() || traits.kind == OperatorKind::Combination) &&
           !traits.has(Indexed);
  }
}

} // namespace mp
