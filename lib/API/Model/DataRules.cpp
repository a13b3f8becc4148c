//===- DataRules.cpp - Valid data of a training step ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Model/DataRules.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Operators/NodeView.h"
#include "mp-opt/Operators/OperatorTraits.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

namespace {
/// Uses that elements of an input reach unchanged.
struct Arrivals {
  /// Uses that all elements reach, and uses that some elements reach.
  llvm::SmallSetVector<OpOperand *, 8> all, some;
};
} // namespace

/// True for casts between floats or between integers: rules for data hold on
/// both sides of them.
static bool isPlainCast(Operation *node) {
  if (getOperatorTraits(node).math != OperatorMath::Cast)
    return false;
  Type from = getTensorElementType(node->getOperand(0).getType()),
       to = getTensorElementType(node->getResult(0).getType());
  return from && to && isa<FloatType>(from) == isa<FloatType>(to) &&
         isa<IntegerType>(from) == isa<IntegerType>(to);
}

static Arrivals findArrivals(Value input) {
  Arrivals arrivals;
  SmallVector<std::pair<Value, bool>> queue{{input, true}};
  llvm::DenseSet<Value> seen;
  while (!queue.empty()) {
    auto [value, isWhole] = queue.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *node = use.getOwner();
      OperatorKind kind =
          isNode(node) ? getOperatorTraits(node).kind : OperatorKind::Opaque;
      bool isKept =
          isNode(node) && (kind == OperatorKind::Movement || isPlainCast(node));
      bool isChosen = kind == OperatorKind::Selection;
      if ((isKept || isChosen) && use.getOperandNumber() == 0 &&
          node->getNumResults()) {
        queue.emplace_back(node->getResult(0), isWhole && isKept);
        continue;
      }
      if (isWhole)
        arrivals.all.insert(&use);
      arrivals.some.insert(&use);
    }
  }
  return arrivals;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getSize(Value value, int64_t axis) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto place = type ? normalizeAxis(axis, type.getRank()) : std::nullopt;
  if (!place || type.isDynamicDim(*place))
    return std::nullopt;
  return type.getDimSize(*place);
}

/// The range that a node admits for integers of this operand.
static std::optional<DataRule::Range> findRange(OpOperand &use) {
  Operation *node = use.getOwner();
  NodeView view(node);
  if (!isNode(node) || use.getOperandNumber() != 1)
    return std::nullopt;
  if (getOperatorTraits(node).kind == OperatorKind::Loss) {
    auto classes = getSize(node->getOperand(0), 1);
    if (!classes)
      return std::nullopt;
    DataRule::Range range{0, *classes - 1, std::nullopt, true, describe(node)};
    if (view.states("ignore_index"))
      range.ignored = view.getInt("ignore_index");
    return range;
  }
  if (!isStandardOp(node, "Gather") && !isStandardOp(node, "GatherElements"))
    return std::nullopt;
  if (auto size = getSize(node->getOperand(0), view.axis()))
    return DataRule::Range{-*size, *size - 1, std::nullopt, false,
                           describe(node)};
  return std::nullopt;
}

static void addRange(const Arrivals &arrivals, DataRule &rule) {
  for (OpOperand *use : arrivals.all) {
    auto range = findRange(*use);
    if (!range)
      continue;
    // The rule of a loss is more specific than that of a table.
    bool isBetter = !rule.range || (range->areLabels && !rule.range->areLabels);
    if (isBetter || (range->areLabels == rule.range->areLabels &&
                     range->greatest < rule.range->greatest))
      rule.range = range;
  }
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

static bool hasMath(Operation *node, OperatorMath math) {
  return isNode(node) && getOperatorTraits(node).math == math;
}

/// True if exp(-|x|) or softplus(-|x|) is computed: of logits.
static bool areLogits(Value value) {
  for (Operation *abs : value.getUsers())
    if (hasMath(abs, OperatorMath::Abs))
      for (Operation *neg : abs->getResult(0).getUsers())
        if (hasMath(neg, OperatorMath::Neg))
          for (Operation *end : neg->getResult(0).getUsers())
            if (isStandardOp(end, "Softplus") ||
                hasMath(end, OperatorMath::Exp))
              return true;
  return false;
}

static bool isLogarithm(Value value) {
  Operation *node = value.getDefiningOp();
  return node && hasMath(node, OperatorMath::Log);
}

/// The value that `use` is multiplied with; null if it is not.
static Value getFactor(OpOperand &use) {
  Operation *node = use.getOwner();
  if (!hasMath(node, OperatorMath::Mul) || node->getNumOperands() != 2)
    return Value();
  return node->getOperand(1 - use.getOperandNumber());
}

/// True for targets t of a binary cross entropy: t x for logits x or, for
/// probabilities, t log p and (1 - t) log(1 - p).
static bool areTargets(const Arrivals &arrivals) {
  bool hasLog = false, hasRest = false;
  for (OpOperand *use : arrivals.all) {
    if (Value factor = getFactor(*use)) {
      if (areLogits(factor))
        return true;
      hasLog |= isLogarithm(factor);
    }
    Operation *rest = use->getOwner();
    if (!hasMath(rest, OperatorMath::Sub) || use->getOperandNumber() != 1)
      continue;
    for (OpOperand &next : rest->getResult(0).getUses())
      if (Value factor = getFactor(next)) {
        if (areLogits(factor))
          return true;
        hasRest |= isLogarithm(factor);
      }
  }
  return hasLog && hasRest;
}

bool reachesSoftmax(Value value) {
  SmallVector<Value> queue{value};
  llvm::DenseSet<Value> seen;
  while (!queue.empty()) {
    Value value = queue.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (Operation *user : value.getUsers()) {
      if (!isNode(user) || !user->getNumResults())
        continue;
      const OperatorTraits &traits = getOperatorTraits(user);
      if (traits.math == OperatorMath::Softmax ||
          traits.math == OperatorMath::LogSoftmax)
        return true;
      if (traits.kind == OperatorKind::Movement || isPlainCast(user) ||
          traits.math == OperatorMath::Add ||
          traits.math == OperatorMath::Where)
        queue.push_back(user->getResult(0));
    }
  }
  return false;
}

/// True if scores that this is added to, or chosen with, go into a softmax.
static bool isMask(OpOperand &use) {
  Operation *node = use.getOwner();
  const OpSchema *schema = isNode(node) ? getSchema(node) : nullptr;
  const FormalParameter *formal =
      schema ? schema->getInput(use.getOperandNumber()) : nullptr;
  if (formal && formal->name == "attn_mask")
    return true;
  return (hasMath(node, OperatorMath::Add) ||
          hasMath(node, OperatorMath::Where)) &&
         reachesSoftmax(node->getResult(0));
}

/// True for comparisons, minima and maxima: they are well defined for infinite
/// operands.
static bool takesInfinity(OpOperand &use) {
  Operation *node = use.getOwner();
  return isNode(node) && (getOperatorTraits(node).kind == OperatorKind::Logic ||
                          hasMath(node, OperatorMath::Min) ||
                          hasMath(node, OperatorMath::Max) ||
                          hasMath(node, OperatorMath::Clip) || isMask(use));
}

/// IsNaN, or the comparison of a value with itself.
static bool asksForNaN(OpOperand &use) {
  Operation *node = use.getOwner();
  return isStandardOp(node, "IsNaN") ||
         (isStandardOp(node, "Equal") &&
          node->getOperand(0) == node->getOperand(1));
}

static DataRule findRule(Value input) {
  Arrivals arrivals = findArrivals(input);
  DataRule rule;
  if (Type element = getTensorElementType(input.getType()))
    rule.kind = getElementKind(element);
  addRange(arrivals, rule);
  rule.areProbabilities = areTargets(arrivals);
  rule.mayBeNaN = llvm::any_of(arrivals.some,
                               [](OpOperand *use) { return asksForNaN(*use); });
  rule.mayBeInfinite =
      llvm::all_of(arrivals.some,
                   [](OpOperand *use) { return takesInfinity(*use); }) ||
      llvm::any_of(arrivals.some, [](OpOperand *use) {
        return isStandardOp(use->getOwner(), "IsInf") || isMask(*use);
      });
  return rule;
}

llvm::StringMap<DataRule> findDataRules(ModuleOp module) {
  llvm::StringMap<DataRule> rules;
  GraphEditor editor(getMainGraph(module));
  for (BlockArgument input : editor.getBlock().getArguments())
    rules[getValueName(input)] = findRule(input);
  return rules;
}

} // namespace mp
