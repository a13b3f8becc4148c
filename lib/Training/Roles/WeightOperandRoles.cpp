//===- WeightOperandRoles.cpp - Operands that take weights ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators with interchangeable operands have a row in the first table. For
// all others, the role follows from the name of the formal parameter, so a new
// operator needs no row.
//
//===----------------------------------------------------------------------===//

#include "WeightOperandRoles.h"

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

static WeightOperandRole getRoleOfName(StringRef opType, StringRef formal) {
  // The weights of a loss belong to its classes.
  if (opType.contains("Loss") || opType.contains("CrossEntropy"))
    return WeightOperandRole::None;
  bool isNorm = opType.contains("Norm");
  if (isNorm && (formal == "scale" || formal == "Scale"))
    return WeightOperandRole::Scale;
  auto exact = llvm::StringSwitch<WeightOperandRole>(formal)
                   .Cases({"W", "R", "P", "a_log"}, WeightOperandRole::Weight)
                   .Cases({"B", "beta"}, WeightOperandRole::Bias)
                   .Cases({"gamma", "slope"}, WeightOperandRole::Scale)
                   .Cases({"input_mean", "input_var", "mean", "var"},
                          WeightOperandRole::Statistic)
                   .Cases({"initial_h", "initial_c", "initial_state"},
                          WeightOperandRole::State)
                   .Cases({"attention_bias", "position_bias", "attn_mask"},
                          WeightOperandRole::Summand)
                   .Default(WeightOperandRole::None);
  if (exact != WeightOperandRole::None)
    return exact;
  if (formal.ends_with("bias"))
    return WeightOperandRole::Bias;
  if (formal.ends_with("norm_weight"))
    return WeightOperandRole::Scale;
  if (formal.ends_with("weight") || formal.ends_with("weights"))
    return WeightOperandRole::Weight;
  if (formal.ends_with("embedding") || formal == "bias_table")
    return WeightOperandRole::Table;
  return WeightOperandRole::None;
}

/// The role that follows from the operator's function; absent if none does.
static std::optional<WeightOperandRole>
getRoleOfMath(const OperatorTraits &traits, unsigned operand) {
  switch (traits.math) {
  case OperatorMath::Add:
  case OperatorMath::Sub:
    return WeightOperandRole::Summand;
  case OperatorMath::Mul:
  case OperatorMath::Div:
    return WeightOperandRole::Factor;
  case OperatorMath::Pow:
    return operand == 1 ? WeightOperandRole::Factor : WeightOperandRole::None;
  case OperatorMath::Where:
    return operand ? WeightOperandRole::Choice : WeightOperandRole::None;
  default:
    break;
  }
  // The mean of the operands.
  if (traits.accumulation == AccumulationExtent::Operands)
    return WeightOperandRole::Summand;
  if (traits.looksUp())
    return operand ? WeightOperandRole::None : WeightOperandRole::Table;
  return std::nullopt;
}

/// Both operands of a matrix product may be the weight.
static std::optional<WeightOperandRole> getRoleOfProduct(Operation *node,
                                                         unsigned operand) {
  StringRef first = getFormalName(node, 0);
  if (first != "A" && first != "Inputs")
    return std::nullopt;
  return operand < 2 || first == "Inputs"      ? WeightOperandRole::Product
         : getFormalName(node, operand) == "C" ? WeightOperandRole::Bias
                                               : WeightOperandRole::None;
}

WeightOperandRole getWeightOperandRole(Operation *node, unsigned operand) {
  const OperatorTraits &traits = getOperatorTraits(node);
  if (auto operandRole = getRoleOfMath(traits, operand))
    return *operandRole;
  if (traits.contracts())
    if (auto operandRole = getRoleOfProduct(node, operand))
      return *operandRole;
  if (isStandardOp(node, "Concat"))
    return WeightOperandRole::Part;
  if (isStandardOp(node, "Scan") || isStandardOp(node, "Loop"))
    return operand >= (getOpType(node) == "Loop" ? 2u : 0u)
               ? WeightOperandRole::State
               : WeightOperandRole::None;
  return getRoleOfName(getOpType(node), getFormalName(node, operand));
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
    switch (getWeightOperandRole(node, index)) {
    case WeightOperandRole::Weight:
    case WeightOperandRole::Table:
      return true;
    case WeightOperandRole::Product:
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
