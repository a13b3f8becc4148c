//===- WeightSlots.cpp - Operands that take weights -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators whose operands are alike have a row in the first table. All others
// answer by the names of their formal parameters, so that an operator that
// comes later needs no row.
//
//===----------------------------------------------------------------------===//

#include "WeightSlots.h"

#include "mp-opt/Autodiff/Autodiff.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

struct SlotRow {
  StringLiteral op;
  WeightSlot slot;
  /// The first operand that the row speaks of, and the one behind the last.
  unsigned begin = 0, end = ~0u;
};

} // namespace

static constexpr SlotRow slotTable[] = {
    {"Add", WeightSlot::Summand},
    {"Concat", WeightSlot::Part},
    {"Div", WeightSlot::Factor},
    {"Einsum", WeightSlot::Product},
    {"Gather", WeightSlot::Table, 0, 1},
    {"GatherElements", WeightSlot::Table, 0, 1},
    {"GatherND", WeightSlot::Table, 0, 1},
    {"Gemm", WeightSlot::Product, 0, 2},
    {"Gemm", WeightSlot::Bias, 2, 3},
    {"Loop", WeightSlot::State, 2},
    {"MatMul", WeightSlot::Product},
    {"Mean", WeightSlot::Summand},
    {"Mul", WeightSlot::Factor},
    {"Pow", WeightSlot::Factor, 1, 2},
    {"Scan", WeightSlot::State},
    {"Sub", WeightSlot::Summand},
    {"Sum", WeightSlot::Summand},
    {"Where", WeightSlot::Choice, 1, 3},
    {"com.microsoft.FusedGemm", WeightSlot::Product, 0, 2},
    {"com.microsoft.FusedGemm", WeightSlot::Bias, 2, 3},
    {"com.microsoft.FusedMatMul", WeightSlot::Product},
    {"com.microsoft.GatedAdd", WeightSlot::Summand},
    {"com.microsoft.TransposeMatMul", WeightSlot::Product},
};

StringRef getFormalName(Operation *node, unsigned operand) {
  const OpSchema *schema = getSchema(node);
  const FormalParameter *formal = schema ? schema->getInput(operand) : nullptr;
  return formal ? StringRef(formal->name) : StringRef();
}

static WeightSlot getSlotOfName(StringRef opType, StringRef formal) {
  // The weights of a loss are its classes'.
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

WeightSlot getWeightSlot(Operation *node, unsigned operand) {
  std::string name = getQualifiedName(getDomain(node), getOpType(node));
  bool isKnown = false;
  for (const SlotRow &row : slotTable) {
    if (row.op != name)
      continue;
    isKnown = true;
    if (operand >= row.begin && operand < row.end)
      return row.slot;
  }
  if (isKnown)
    return WeightSlot::None;
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
  if (getInt(node, isRight ? "transB" : "transA", 0))
    isRight = !isRight;
  int64_t axis =
      isRight && type.getRank() > 1 ? type.getRank() - 2 : type.getRank() - 1;
  return type.getDimSize(axis) == 1;
}

bool carriesElements(Operation *node, unsigned operand) {
  return operand == 0 || !isNode(node) || !isStandardOp(node, "CastLike");
}

bool isRearranged(Operation *node) {
  return llvm::StringSwitch<bool>(isNode(node) && getDomain(node).empty()
                                      ? getOpType(node)
                                      : StringRef())
      .Cases(
          {"Cast", "CastLike", "Identity", "Reshape", "Transpose", "Squeeze"},
          true)
      .Cases({"Unsqueeze", "Flatten", "Expand", "Slice", "Split", "Pad"}, true)
      .Cases({"Add", "Sub", "Mul", "Div", "Neg", "Clip", "Concat"}, true)
      .Default(false);
}

} // namespace mp
