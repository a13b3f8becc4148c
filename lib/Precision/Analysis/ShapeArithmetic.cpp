//===- ShapeArithmetic.cpp - Floats that are sizes or positions -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes two fixed points over the values of a graph. The forward one finds
// the origin of values: an origin only rises, so a worklist ends after a few
// visits of each node. The backward one finds their destinations: values with a
// use for data are removed, then those are kept that reach a size at all. Both
// are linear in the number of uses.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Analysis/ShapeArithmetic.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Parameters.h"
#include "mp-opt/Graph/RisingLevels.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Precision/Analysis/ProductDepth.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// The origin of a value; of two origins, the greater wins.
enum class Origin : uint8_t {
  Constant,
  /// Sizes, indices, positions.
  Index,
  /// Inputs of the graph, and values computed with them.
  Input,
  /// Results of contractions, and values computed with them.
  Data,
};

/// The effect of an op on the origins of its operands.
enum class Rule : uint8_t {
  Plain,
  /// Sizes and indices, whatever the operands are.
  Source,
  /// Running sums: indices if they count.
  Count,
  /// Bounded results, which are not positions.
  Bounded,
  /// Operand 0 is a table.
  Lookup,
  /// The shape says nothing about the elements.
  Fill,
  Contraction,
  /// Products of integers, and ops that scale them.
  Quantized,
  Opaque,
};

class Origins {
public:
  explicit Origins(const ValueFlow &flow);
  Origin lookup(Value value) const { return levels.lookup(value); }
  Rule getRule(Operation *op);
  const ValueFlow &getFlow() const { return flow; }

private:
  Origin getOperands(Operation *op, bool asFloat) const;
  Origin getResult(Operation *op, Value result);

  const ValueFlow &flow;
  RisingLevels<Origin> levels;
  llvm::DenseMap<const void *, Rule> rules;
};

} // namespace

/// Tan has no bounds, but its result is not a position either.
static bool isBounded(const OperatorTraits &traits) {
  return traits.has(Bounded) || traits.math == OperatorMath::Periodic;
}

static Rule findRule(Operation *op) {
  const OperatorTraits &traits = getOperatorTraits(op);
  if (traits.kind == OperatorKind::Opaque)
    return isa<CustomOp>(op) ? Rule::Opaque : Rule::Plain;
  if (traits.contracts())
    return Rule::Contraction;
  if (isBounded(traits))
    return Rule::Bounded;
  if (traits.looksUp())
    return Rule::Lookup;
  switch (traits.kind) {
  case OperatorKind::Index:
    return Rule::Source;
  case OperatorKind::Generation:
    return Rule::Fill;
  case OperatorKind::Prefix:
    return Rule::Count;
  case OperatorKind::Quantization:
    return Rule::Quantized;
  default:
    return Rule::Plain;
  }
}

Rule Origins::getRule(Operation *op) {
  auto [it, isNew] = rules.try_emplace(op->getName().getAsOpaquePointer());
  if (isNew)
    it->second = findRule(op);
  return it->second;
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// True if every element of the result is one product: a column times a row, or
/// an equation that sums over nothing.
static bool isOuterProduct(Operation *op) {
  if (isStandardOp(op, "Einsum")) {
    auto equation = op->getAttrOfType<StringAttr>("equation");
    auto [inputs, output] = equation ? equation.getValue().split("->")
                                     : std::pair<StringRef, StringRef>();
    return !output.empty() && llvm::all_of(inputs, [output = output](char c) {
      return !isalpha(c) || output.contains(c);
    });
  }
  // Products of matrices are linear; convolutions add a bias.
  if (!getOperatorTraits(op).has(Linear) || op->getNumOperands() != 2)
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

static bool isMadeOfIntegers(Value value) {
  Operation *op = value.getDefiningOp();
  return op && getOperatorTraits(op).math == OperatorMath::Cast &&
         op->getNumOperands() == 1 &&
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
    return !asFloat || isMadeOfIntegers(op->getOperand(0)) ? Origin::Index
                                                           : origin;
  case Rule::Lookup:
    if (op->getNumOperands() > 1 && origin == Origin::Constant &&
        lookup(op->getOperand(1)) != Origin::Constant)
      return Origin::Input;
    return origin;
  case Rule::Quantized:
    return origin == Origin::Constant ? origin : Origin::Data;
  case Rule::Plain:
    // Integers among a model's inputs are positions, times and identifiers.
    return origin == Origin::Input && isCastOfIntegers(op) ? Origin::Index
                                                           : origin;
  }
  return origin;
}

Origins::Origins(const ValueFlow &flow) : flow(flow), levels(flow) {
  for (Operation *scope : flow.getScopes()) {
    // Arguments of functions come from calls.
    auto graph = dyn_cast<GraphOp>(scope);
    if (!graph)
      continue;
    llvm::DenseSet<Value> parameters = collectParameters(graph);
    for (BlockArgument argument : scope->getRegion(0).getArguments())
      if (!parameters.contains(argument))
        levels.raise(argument, Origin::Input);
  }
  for (Operation *op : flow.getOps())
    if (isStandardOp(op, "Loop") && !op->getRegion(0).empty() &&
        op->getRegion(0).getNumArguments())
      levels.raise(op->getRegion(0).getArgument(0), Origin::Index);
  levels.run([&](Operation *op, Value result) { return getResult(op, result); },
             Origin::Data);
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

namespace {

class Destinations {
public:
  explicit Destinations(Origins &origins);
  /// True if every float result is used, and each of its uses ends as a size.
  bool areSizes(Operation *op) const;

private:
  /// A float value.
  struct Info {
    bool isData = false, isSize = false;
    /// The sources of this value: the head of a list in `links`.
    int sources = -1;
  };
  struct Link {
    unsigned source;
    int next;
  };

  bool hasEnds();
  void number();
  void collectUse(unsigned index, OpOperand &use);
  void spread(bool Info::*flag);

  Origins &origins;
  std::vector<Value> values;
  std::vector<Info> infos;
  std::vector<Link> links;
  llvm::DenseMap<Value, unsigned> numbers;
};

} // namespace

static bool isQuantization(Type element) {
  return element.isIntOrIndex() && element.getIntOrFloatBitWidth() <= 16;
}

namespace {
/// The way in which an operand may end the path of a float value.
enum class End : uint8_t { None, Cast, Size, Angle };
} // namespace

static End getEnd(Operation *user, unsigned operand) {
  const OperatorTraits &traits = getOperatorTraits(user);
  if (traits.hasRole(OperandRole::Shape, operand))
    return End::Size;
  if (traits.math == OperatorMath::Cast)
    return End::Cast;
  return isStandardOp(user, "Sin") || isStandardOp(user, "Cos") ? End::Angle
                                                                : End::None;
}

/// False if no value of the graph can end as a size.
bool Destinations::hasEnds() {
  return llvm::any_of(origins.getFlow().getOps(), [](Operation *op) {
    return isNode(op) && llvm::any_of(op->getOpOperands(), [&](OpOperand &use) {
             return isFloatTensor(use.get().getType()) &&
                    getEnd(op, use.getOperandNumber()) != End::None;
           });
  });
}

void Destinations::collectUse(unsigned index, OpOperand &use) {
  Operation *user = use.getOwner();
  Value value = values[index];
  auto become = [&](Value target) {
    auto it = numbers.find(target);
    if (it == numbers.end())
      return;
    links.push_back({index, infos[it->second].sources});
    infos[it->second].sources = links.size() - 1;
  };
  auto end = [&](bool isSize) {
    (isSize ? infos[index].isSize : infos[index].isData) = true;
  };
  if (origins.getFlow().forEachTarget(use, become))
    return;
  if (!isNode(user))
    return end(false);
  switch (getEnd(user, use.getOperandNumber())) {
  case End::Size:
    return end(true);
  case End::Angle:
    return end(origins.lookup(value) != Origin::Data);
  case End::Cast:
    if (Type to = getCastType(user); to && to.isIntOrIndex())
      return end(!isQuantization(to) || origins.lookup(value) != Origin::Data);
    break;
  case End::None:
    // These ops only read the type.
    if (isStandardOp(user, "Shape") || isStandardOp(user, "Size"))
      return;
    break;
  }
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

void Destinations::number() {
  auto take = [&](Value value) {
    if (!isFloatTensor(value.getType()))
      return;
    numbers[value] = values.size();
    values.push_back(value);
  };
  for (Operation *scope : origins.getFlow().getScopes())
    if (isa<FunctionOp>(scope))
      llvm::for_each(scope->getRegion(0).getArguments(), take);
  for (Operation *op : origins.getFlow().getOps()) {
    for (Value result : op->getResults())
      take(result);
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        take(argument);
  }
  infos.resize(values.size());
}

/// Copies a flag from values to their sources. Sources of data are data, and
/// data is never a size.
void Destinations::spread(bool Info::*flag) {
  auto isFree = [&](const Info &info) { return !info.isData && !(info.*flag); };
  std::vector<unsigned> worklist;
  for (auto [index, info] : llvm::enumerate(infos))
    if (info.*flag && (flag == &Info::isData || !info.isData))
      worklist.push_back(index);
  while (!worklist.empty()) {
    int link = infos[worklist.back()].sources;
    worklist.pop_back();
    for (; link >= 0; link = links[link].next)
      if (Info &source = infos[links[link].source]; isFree(source)) {
        source.*flag = true;
        worklist.push_back(links[link].source);
      }
  }
}

Destinations::Destinations(Origins &origins) : origins(origins) {
  if (!hasEnds())
    return;
  number();
  for (unsigned index = 0; index < values.size(); ++index)
    for (OpOperand &use : values[index].getUses())
      collectUse(index, use);
  spread(&Info::isData);
  spread(&Info::isSize);
}

bool Destinations::areSizes(Operation *op) const {
  bool hasSize = false;
  for (Value result : op->getResults()) {
    if (!isF32Tensor(result.getType()))
      continue;
    auto it = numbers.find(result);
    if (it == numbers.end() || infos[it->second].isData)
      return false;
    hasSize |= infos[it->second].isSize;
  }
  return hasSize;
}

std::vector<Operation *> findShapeArithmetic(ModuleOp module) {
  ValueFlow flow(module);
  Origins origins(flow);
  Destinations destinations(origins);
  std::vector<Operation *> found;
  for (Operation *op : flow.getOps()) {
    // The result of a contraction is data, even if it is quantized in the end.
    if (!isNode(op) || isConstant(op) || op->getNumRegions() || flow.isCall(op))
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
