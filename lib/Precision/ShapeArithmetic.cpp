//===- ShapeArithmetic.cpp - Floats that are sizes or positions -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two fixed points over the values of a graph. Forward, where values come
// from: a value's origin only rises, so that a worklist ends after a few
// visits of each node. Backward, where they go: values with a use for data are
// taken out, then those are kept that reach a size at all. Both are linear in
// the number of uses.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/ShapeArithmetic.h"

#include "ValueFlow.h"
#include "mp-opt/Precision/Assignment.h"
#include "mp-opt/Precision/Casts.h"
#include "mp-opt/Precision/Constants.h"
#include "mp-opt/Precision/FloatSignature.h"
#include "mp-opt/Precision/Policy.h"

#include <deque>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// Where a value comes from; of two, the greater wins.
enum class Origin : uint8_t {
  Constant,
  /// Sizes, indices, positions.
  Index,
  /// Inputs of the graph, and what has met them.
  Input,
  /// What contractions have made, and what has met it.
  Data,
};

/// What an op makes of origins.
enum class Rule : uint8_t {
  Plain,
  /// Sizes and indices, whatever they are made from.
  Source,
  /// Running sums: indices if they count.
  Count,
  /// Bounded results: no position any more.
  Bounded,
  /// Operand 0 is a table.
  Lookup,
  /// The shape says nothing about the elements.
  Fill,
  Contraction,
  Opaque,
};

struct RuleEntry {
  llvm::StringLiteral name;
  Rule rule;
};

class Origins {
public:
  explicit Origins(GraphOp graph);
  Origin lookup(Value value) const { return origins.lookup(value); }
  Rule getRule(Operation *op);
  /// Nodes, and yields of subgraphs, in order.
  ArrayRef<Operation *> getOps() const { return ops; }

private:
  void visit(Operation *op);
  void raise(Value value, Origin origin);
  Origin getOperands(Operation *op, bool asFloat) const;
  Origin getResult(Operation *op, Value result);

  std::vector<Operation *> ops;
  llvm::DenseMap<Value, Origin> origins;
  llvm::DenseMap<const void *, Rule> rules;
  std::deque<Operation *> worklist;
  llvm::DenseSet<Operation *> visited;
};

} // namespace

static constexpr RuleEntry ruleTable[] = {
    {"ArgMax", Rule::Source},        {"ArgMin", Rule::Source},
    {"ConstantOfShape", Rule::Fill}, {"Cos", Rule::Bounded},
    {"CumSum", Rule::Count},         {"EyeLike", Rule::Fill},
    {"Gather", Rule::Lookup},        {"GatherElements", Rule::Lookup},
    {"GatherND", Rule::Lookup},      {"NonZero", Rule::Source},
    {"OneHot", Rule::Bounded},       {"Range", Rule::Source},
    {"Shape", Rule::Source},         {"Sigmoid", Rule::Bounded},
    {"Sin", Rule::Bounded},          {"Size", Rule::Source},
    {"Softmax", Rule::Bounded},      {"Tan", Rule::Bounded},
    {"Tanh", Rule::Bounded},
};

Rule Origins::getRule(Operation *op) {
  auto [it, isNew] = rules.try_emplace(op->getName().getAsOpaquePointer());
  if (!isNew)
    return it->second;
  it->second = isa<CustomOp>(op) ? Rule::Opaque : Rule::Plain;
  StringRef domain = getDomain(op), opType = getOpType(op);
  if (getProfileClass(ElementKind::BFloat16, domain, opType) == OpClass::Allow)
    it->second = Rule::Contraction;
  else if (domain.empty())
    for (const RuleEntry &entry : ruleTable)
      if (entry.name == opType)
        it->second = entry.rule;
  return it->second;
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// Every element of the result is one product: a column times a row, or an
/// equation that sums over nothing.
static bool isOuterProduct(Operation *op) {
  if (isStandardOp(op, "Einsum")) {
    auto equation = op->getAttrOfType<StringAttr>("equation");
    auto [inputs, output] = equation ? equation.getValue().split("->")
                                     : std::pair<StringRef, StringRef>();
    return !output.empty() && llvm::all_of(inputs, [&](char c) {
      return !isalpha(c) || output.contains(c);
    });
  }
  if (!isStandardOp(op, "MatMul") || op->getNumOperands() != 2)
    return false;
  auto left = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto right = dyn_cast<RankedTensorType>(op->getOperand(1).getType());
  return (left && left.getRank() >= 2 && left.getShape().back() == 1) ||
         (right && right.getRank() >= 2 &&
          right.getDimSize(right.getRank() - 2) == 1);
}

/// The greatest origin among the operands that make up the elements: those of
/// float type and the first; for integers, all.
Origin Origins::getOperands(Operation *op, bool asFloat) const {
  Origin greatest = Origin::Constant;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    Type element = getTensorElementType(operand.getType());
    if (asFloat && index && !isFloatTensor(operand.getType()))
      continue;
    Origin origin = lookup(operand);
    // A comparison of positions is a mask, not a position.
    if (element && element.isInteger(1) && origin == Origin::Index)
      continue;
    greatest = std::max(greatest, origin);
  }
  return greatest;
}

static bool isCastOfIntegers(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isStandardOp(op, "Cast") && op->getNumOperands() == 1 &&
         !isFloatTensor(op->getOperand(0).getType());
}

Origin Origins::getResult(Operation *op, Value result) {
  bool asFloat = isFloatTensor(result.getType());
  Origin origin = getOperands(op, asFloat);
  switch (getRule(op)) {
  case Rule::Source:
    return Origin::Index;
  case Rule::Fill:
    return Origin::Constant;
  case Rule::Opaque:
    return Origin::Data;
  case Rule::Contraction:
    return origin <= Origin::Index && isOuterProduct(op) ? origin
                                                         : Origin::Data;
  case Rule::Bounded:
    return origin == Origin::Index ? Origin::Input : origin;
  case Rule::Count:
    return !asFloat || isCastOfIntegers(op->getOperand(0)) ? Origin::Index
                                                           : origin;
  case Rule::Lookup:
    if (op->getNumOperands() > 1 && origin == Origin::Constant &&
        lookup(op->getOperand(1)) != Origin::Constant)
      return Origin::Input;
    return origin;
  case Rule::Plain:
    return origin;
  }
  return origin;
}

void Origins::raise(Value value, Origin origin) {
  Origin &current = origins[value];
  if (origin <= current)
    return;
  current = origin;
  for (Operation *user : value.getUsers())
    if (visited.contains(user))
      worklist.push_back(user);
}

void Origins::visit(Operation *op) {
  if (isControlFlow(op) || isa<YieldOp>(op)) {
    for (OpOperand &operand : op->getOpOperands())
      forEachFlowTarget(
          operand, [&](Value target) { raise(target, lookup(operand.get())); });
    if (isStandardOp(op, "Loop") && !op->getRegion(0).empty() &&
        op->getRegion(0).getNumArguments())
      raise(op->getRegion(0).getArgument(0), Origin::Index);
    return;
  }
  for (OpResult result : op->getResults())
    raise(result, getResult(op, result));
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      raise(argument, Origin::Data);
}

Origins::Origins(GraphOp graph) {
  llvm::DenseSet<Value> parameters = collectParameters(graph);
  for (BlockArgument argument : graph.getBody().getArguments())
    if (!parameters.contains(argument))
      raise(argument, Origin::Input);
  graph->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isNode(op) || (isa<YieldOp>(op) && op->getParentOp() != graph))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    visit(op);
    visited.insert(op);
  }
  while (!worklist.empty()) {
    Operation *op = worklist.front();
    worklist.pop_front();
    visit(op);
  }
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

namespace {

class Destinations {
public:
  Destinations(GraphOp graph, Origins &origins);
  /// Every use of every float result ends as a size, and there is one.
  bool areSizes(Operation *op) const;

private:
  struct Info {
    /// Float values that this one becomes a part of, turned round.
    SmallVector<Value, 2> sources;
    bool isData = false, isSize = false;
  };

  void collect(Value value);
  void collectUse(Value value, OpOperand &use);
  void spread();

  Origins &origins;
  std::vector<Value> values;
  llvm::DenseMap<Value, Info> infos;
};

} // namespace

static bool isQuantization(Type element) {
  return element.isIntOrIndex() && element.getIntOrFloatBitWidth() <= 16;
}

void Destinations::collectUse(Value value, OpOperand &use) {
  Operation *user = use.getOwner();
  auto become = [&](Value target) {
    if (isFloatTensor(target.getType()))
      infos[target].sources.push_back(value);
  };
  auto end = [&](bool isSize) {
    Info &info = infos[value];
    (isSize ? info.isSize : info.isData) = true;
  };
  if (forEachFlowTarget(use, become))
    return;
  if (!isNode(user))
    return end(false);
  StringRef domain = getDomain(user), opType = getOpType(user);
  Type to = isStandardOp(user, "Cast") ? getCastType(user) : Type();
  if (to && to.isIntOrIndex())
    return end(!isQuantization(to) || origins.lookup(value) != Origin::Data);
  if (isShapeOperand(domain, opType, use.getOperandNumber()))
    return end(true);
  if (domain.empty() && (opType == "Sin" || opType == "Cos"))
    return end(origins.lookup(value) != Origin::Data);
  // They read the type only.
  if (domain.empty() && (opType == "Shape" || opType == "Size"))
    return;
  Rule rule = origins.getRule(user);
  bool isPosition = llvm::any_of(user->getResults(), [&](Value result) {
    return origins.lookup(result) == Origin::Index;
  });
  bool hasFloat = llvm::any_of(user->getResultTypes(), isFloatTensor);
  if (rule == Rule::Opaque || !hasFloat || user->getNumRegions() ||
      (rule == Rule::Contraction && !isPosition))
    return end(false);
  for (Value result : user->getResults())
    become(result);
}

void Destinations::collect(Value value) {
  if (!isFloatTensor(value.getType()))
    return;
  values.push_back(value);
  infos.try_emplace(value);
  for (OpOperand &use : value.getUses())
    collectUse(value, use);
}

/// What becomes data is data; what becomes a size, and nothing else, is one.
void Destinations::spread() {
  std::vector<Value> worklist;
  for (Value value : values)
    if (infos[value].isData)
      worklist.push_back(value);
  while (!worklist.empty()) {
    Value value = worklist.back();
    worklist.pop_back();
    for (Value source : infos[value].sources)
      if (Info &info = infos[source]; !info.isData) {
        info.isData = true;
        worklist.push_back(source);
      }
  }
  for (Value value : values)
    if (const Info &info = infos[value]; info.isSize && !info.isData)
      worklist.push_back(value);
  while (!worklist.empty()) {
    Value value = worklist.back();
    worklist.pop_back();
    for (Value source : infos[value].sources)
      if (Info &info = infos[source]; !info.isSize && !info.isData) {
        info.isSize = true;
        worklist.push_back(source);
      }
  }
}

Destinations::Destinations(GraphOp graph, Origins &origins) : origins(origins) {
  for (Operation *op : origins.getOps()) {
    for (Value result : op->getResults())
      collect(result);
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        collect(argument);
  }
  spread();
}

bool Destinations::areSizes(Operation *op) const {
  bool hasSize = false;
  for (Value result : op->getResults()) {
    if (!isF32Tensor(result.getType()))
      continue;
    auto it = infos.find(result);
    if (it == infos.end() || it->second.isData)
      return false;
    hasSize |= it->second.isSize;
  }
  return hasSize;
}

std::vector<Operation *> findShapeArithmetic(GraphOp graph) {
  Origins origins(graph);
  Destinations destinations(graph, origins);
  std::vector<Operation *> found;
  for (Operation *op : origins.getOps()) {
    // What leaves a contraction is data, even if it is quantized in the end.
    if (!isNode(op) || isConstant(op) || op->getNumRegions())
      continue;
    bool isPosition = llvm::any_of(op->getResults(), [&](Value result) {
      return isF32Tensor(result.getType()) &&
             origins.lookup(result) == Origin::Index;
    });
    if (isPosition ||
        (origins.getRule(op) != Rule::Contraction && destinations.areSizes(op)))
      found.push_back(op);
  }
  return found;
}

} // namespace mp
