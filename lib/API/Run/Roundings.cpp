//===- Roundings.cpp - Roundings of a model to 16 bit ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/Roundings.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/Constants.h"

#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static bool isWideFloat(Type type) {
  Type element = getTensorElementType(type);
  return element && (element.isF32() || element.isF64());
}

static bool isFloatCast(Operation *op) {
  return op && isStandardOp(op, "Cast") && op->getNumOperands() == 1 &&
         isa_and_nonnull<FloatType>(
             getTensorElementType(op->getOperand(0).getType()));
}

/// True for a cast to 16 bit from a wider float. Casts from integers do not
/// count.
static bool isNarrowingCast(Operation *op) {
  return isFloatCast(op) && is16BitTensor(op->getResult(0).getType()) &&
         isWideFloat(op->getOperand(0).getType());
}

/// True for a cast from a 16-bit value back to a wider float.
static bool isWideningCast(Operation *op) {
  return isFloatCast(op) && is16BitTensor(op->getOperand(0).getType());
}

/// True for a node that computes in 16 bit and rounds its result at the end.
/// Results of control flow are rounded inside of it.
static bool roundsResults(Operation *op) {
  return isNode(op) && !isConstant(op) && !op->getNumRegions() &&
         !isStandardOp(op, "Cast") && !getOperatorTraits(op).has(Exact);
}

static bool movesValues(Operation *op) {
  const OperatorTraits &traits = getOperatorTraits(op);
  return isNode(op) && (traits.has(Exact) || traits.movesData() ||
                        traits.kind == OperatorKind::Combination);
}

//===----------------------------------------------------------------------===//
// Finding roundings
//===----------------------------------------------------------------------===//

/// The value without the float casts around it.
static Value getSource(Value value) {
  while (isFloatCast(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// Adds the uses of the value, also those after casts back to fp32.
static void addUses(Value value, GraphOp graph, std::vector<NamedUse> &uses) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isWideningCast(user))
      addUses(user->getResult(0), graph, uses);
    else if (isNode(user))
      uses.push_back({onnxir::getValueName(user->getResult(0)).str(),
                      use.getOperandNumber()});
    else if (user->getParentOp() == graph)
      uses.push_back({"", use.getOperandNumber()});
  }
}

/// The names that a 16-bit value may have had in fp32: its own name, or the
/// name of the value that is cast back.
static std::vector<std::string> getNames(Value value) {
  std::vector<std::string> names = {onnxir::getValueName(value).str()};
  for (Operation *user : value.getUsers())
    if (isWideningCast(user))
      names.push_back(onnxir::getValueName(user->getResult(0)).str());
  return names;
}

/// The node of the main graph that holds, or is, `op`; null for the graph's own
/// end.
static Operation *getMainNode(Operation *op, GraphOp graph) {
  while (op->getParentOp() != graph)
    op = op->getParentOp();
  return isNode(op) ? op : nullptr;
}

/// The nodes that compute with the value, also through casts and nodes that
/// only move 16-bit values.
static std::vector<std::string> findReaders(Value value, GraphOp graph) {
  std::vector<std::string> readers;
  SmallVector<Value> worklist = {value};
  llvm::DenseSet<Operation *> seen;
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      Operation *node = getMainNode(user, graph);
      if (!node || !seen.insert(user).second)
        continue;
      if (isFloatCast(user) || (movesValues(user) && user == node))
        llvm::append_range(worklist, user->getResults());
      else
        readers.push_back(describe(node));
    }
  return readers;
}

std::vector<Rounding> findRoundings(ModuleOp module) {
  std::vector<Rounding> roundings;
  GraphOp graph = getMainGraph(module);
  auto add = [&](Value value) {
    roundings.push_back({getNames(value),
                         getElementKind(getTensorElementType(value.getType())),
                         {}});
    Operation *source = value.getDefiningOp();
    if (source && roundsResults(source))
      roundings.back().nodes = {describe(getMainNode(source, graph))};
    else
      roundings.back().nodes = findReaders(value, graph);
  };
  for (BlockArgument input : graph.getBody().getArguments())
    if (is16BitTensor(input.getType()))
      add(input);
  graph.walk([&](Operation *op) {
    bool isRounded = isConstant(op) || roundsResults(op);
    for (OpResult result : op->getResults())
      if (isRounded && is16BitTensor(result.getType()))
        add(result);
    if (!isNarrowingCast(op) ||
        is16BitTensor(getSource(op->getResult(0)).getType()))
      return;
    // If the result of an fp32 node is rounded for all uses, its name has moved
    // to the value that is cast back. Otherwise it is rounded for some of its
    // uses.
    add(op->getResult(0));
    Rounding &cast = roundings.back();
    addUses(op->getResult(0), graph, cast.uses);
    cast.names.insert(cast.names.begin(),
                      onnxir::getValueName(op->getOperand(0)).str());
  });
  return roundings;
}

//===----------------------------------------------------------------------===//
// Depth
//===----------------------------------------------------------------------===//

double RoundingDepth::getError() const {
  double unit = kind == ElementKind::BFloat16  ? 0x1p-8
                : kind == ElementKind::Float16 ? 0x1p-11
                                               : 0;
  return unit * std::sqrt(double(depth));
}

/// Combines two depths: the coarser type and the longer path.
static RoundingDepth join(RoundingDepth a, RoundingDepth b) {
  bool isCoarse = a.kind == ElementKind::BFloat16;
  return {a.kind == ElementKind::Undefined || (b.depth && !isCoarse) ? b.kind
                                                                     : a.kind,
          std::max(a.depth, b.depth)};
}

/// An explicit pair of casts, as --emulate writes it.
static bool isRoundingPair(Operation *op) {
  return isNarrowingCast(op) && llvm::all_of(op->getUsers(), isWideningCast);
}

/// True for a cast of an fp32 value to 16 bit that is an output, perhaps moved:
/// no node after it rounds.
static bool narrowsOutput(Operation *op) {
  if (!isNarrowingCast(op))
    return false;
  SmallVector<Operation *> worklist(op->getUsers());
  llvm::DenseSet<Operation *> seen;
  while (!worklist.empty()) {
    Operation *user = worklist.pop_back_val();
    if (isa<YieldOp>(user) && isa<GraphOp>(user->getParentOp()))
      return true;
    if (seen.insert(user).second && movesValues(user))
      llvm::append_range(worklist, user->getUsers());
  }
  return false;
}

/// The 16-bit type that the node rounds results to; Undefined if to none.
static ElementKind getRounding(Operation *op) {
  if (roundsResults(op) || isRoundingPair(op) || narrowsOutput(op))
    for (Type type : op->getResultTypes())
      if (is16BitTensor(type))
        return getElementKind(getTensorElementType(type));
  return ElementKind::Undefined;
}

/// Inputs that are 16 bit, but not in the model before conversion.
static llvm::DenseMap<Value, RoundingDepth> findRoundedInputs(GraphOp graph,
                                                              ModuleOp before) {
  llvm::StringSet<> unrounded;
  for (BlockArgument input : getMainGraph(before).getBody().getArguments())
    if (is16BitTensor(input.getType()))
      unrounded.insert(onnxir::getValueName(input));
  llvm::DenseMap<Value, RoundingDepth> rounded;
  for (BlockArgument input : graph.getBody().getArguments())
    if (is16BitTensor(input.getType()) &&
        !unrounded.contains(onnxir::getValueName(input)))
      rounded[input] = {getElementKind(getTensorElementType(input.getType())),
                        1};
  return rounded;
}

llvm::StringMap<RoundingDepth> findRoundingDepths(ModuleOp module,
                                                  ModuleOp before) {
  GraphOp graph = getMainGraph(module);
  const auto inputs = findRoundedInputs(graph, before);
  llvm::DenseMap<Value, RoundingDepth> depths = inputs;
  // Bodies are visited before their nodes, which are at least as deep as the
  // values that the bodies yield. Captured values are visited before.
  graph.walk([&](Operation *op) {
    RoundingDepth depth;
    ElementKind kind = getRounding(op);
    auto take = [&](ValueRange values) {
      // The count of a node that rounds covers its operands.
      for (Value value : values)
        if (kind == ElementKind::Undefined || !inputs.contains(value))
          depth = join(depth, depths.lookup(value));
    };
    take(op->getOperands());
    for (Region &region : op->getRegions())
      if (!region.empty() && op != graph)
        take(getYield(region)->getOperands());
    if (kind != ElementKind::Undefined)
      depth = join({depth.kind, depth.depth + 1}, {kind, 1});
    for (Value result : op->getResults())
      depths[result] = depth;
  });
  llvm::StringMap<RoundingDepth> outputs;
  for (Value output : getYield(graph.getBody())->getOperands())
    outputs[onnxir::getValueName(output)] = depths.lookup(output);
  return outputs;
}

//===----------------------------------------------------------------------===//
// Rounding on other grids
//===----------------------------------------------------------------------===//

namespace {

class GridRounder {
public:
  explicit GridRounder(ModuleOp module);

  /// Rounds the values of one rounding; `number` is the index of its scale.
  void visit(const Rounding &rounding, unsigned number);
  ScaleInput getScales() const { return {scales ? scalesName : "", count}; }

private:
  Value lookup(const Rounding &rounding) const;
  SmallVector<OpOperand *> findUses(const Rounding &rounding);
  Value round(Value value, ElementKind kind, unsigned number);
  Value clip(Value value);

  NodeBuilder builder;
  GraphEditor editor;
  /// The insertion point, after the constants that are created.
  Operation *first;
  std::string scalesName;
  BlockArgument scales;
  unsigned count = 0;
  llvm::StringMap<Value> values;
  /// Values that are rounded, for some of their uses at least.
  llvm::DenseSet<Value> rounded;
};

} // namespace

GridRounder::GridRounder(ModuleOp module)
    : builder(module), editor(getMainGraph(module)),
      first(&editor.getBlock().front()),
      scalesName(builder.getNames().getValueName("rounding_scales")) {
  GraphOp graph = getMainGraph(module);
  for (BlockArgument input : graph.getBody().getArguments())
    values[onnxir::getValueName(input)] = input;
  graph.walk([&](Operation *op) {
    if (isNode(op) || isa<InitializerOp>(op))
      for (OpResult result : op->getResults())
        values.try_emplace(onnxir::getValueName(result), result);
  });
}

/// Finds the value by the first of its names that belongs to an fp32 value.
Value GridRounder::lookup(const Rounding &rounding) const {
  for (const std::string &name : rounding.names)
    if (Value value = name.empty() ? Value() : values.lookup(name);
        value && isWideFloat(value.getType()))
      return value;
  return {};
}

/// The operands that read the rounded value; empty if the nodes are not found.
SmallVector<OpOperand *> GridRounder::findUses(const Rounding &rounding) {
  SmallVector<OpOperand *> found;
  for (const NamedUse &use : rounding.uses) {
    Operation *node = editor.getYield();
    if (Value result = values.lookup(use.node))
      node = result.getDefiningOp();
    else if (!use.node.empty())
      node = nullptr;
    if (!node || use.operand >= node->getNumOperands())
      return {};
    found.push_back(&node->getOpOperand(use.operand));
  }
  return found;
}

/// Clips to the range of float16. Masks with larger numbers still mask.
Value GridRounder::clip(Value value) {
  Value least = builder.scalarLike(-65504, value),
        most = builder.scalarLike(65504, value);
  return builder.create("Min", {builder.create("Max", {value, least}), most});
}

Value GridRounder::round(Value value, ElementKind kind, unsigned number) {
  if (Operation *op = value.getDefiningOp())
    builder.setInsertionPointAfter(op);
  else
    builder.setInsertionPoint(first);
  builder.setBase(onnxir::getValueName(value) + "_rounded");
  if (!scales)
    scales = editor.addInput(
        scalesName,
        RankedTensorType::get({ShapedType::kDynamic},
                              Float32Type::get(value.getContext())));
  count = std::max(count, number + 1);
  Value scale = builder.castLike(
      builder.gather(scales, builder.intScalar(number), 0), value);
  Value scaled = builder.create("Mul", {value, scale}, {}, value.getType());
  if (kind == ElementKind::Float16)
    scaled = clip(scaled);
  Value narrow =
      builder.castTo(scaled, getElementType(value.getContext(), kind));
  Value onGrid = builder.create("Div", {builder.castLike(narrow, value), scale},
                                {}, value.getType());
  Value isRounded =
      builder.create("Greater", {scale, builder.scalarLike(0, value)});
  return builder.create("Where", {isRounded, onGrid, value}, {},
                        value.getType());
}

void GridRounder::visit(const Rounding &rounding, unsigned number) {
  Value value = lookup(rounding);
  SmallVector<OpOperand *> uses = findUses(rounding);
  bool isWhole = uses.empty();
  if (!value || (isWhole && rounded.contains(value)))
    return;
  if (isWhole)
    for (OpOperand &use : value.getUses())
      uses.push_back(&use);
  llvm::erase_if(uses, [&](OpOperand *use) { return use->get() != value; });
  if (uses.empty() && rounded.contains(value))
    return;
  rounded.insert(value);
  Value result = round(value, rounding.kind, number);
  for (OpOperand *use : uses)
    use->set(result);
  auto source = dyn_cast<OpResult>(value);
  bool isOutput = llvm::any_of(
      uses, [](OpOperand *use) { return isa<YieldOp>(use->getOwner()); });
  if (!source || !(isOutput || (isWhole && isNode(source.getOwner()))))
    return;
  // Outputs and other users that refer to the value by name must get the
  // rounded one.
  std::string name = onnxir::getValueName(value).str();
  setValueName(source, builder.getNames().getValueName(name + "_exact"));
  setValueName(cast<OpResult>(result), name);
}

ScaleInput roundOnScaledGrids(ModuleOp module, ArrayRef<Rounding> roundings) {
  GridRounder rounder(module);
  for (auto [number, rounding] : llvm::enumerate(roundings))
    rounder.visit(rounding, number);
  return rounder.getScales();
}

} // namespace mp
