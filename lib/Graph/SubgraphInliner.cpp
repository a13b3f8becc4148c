//===- SubgraphInliner.cpp - Inlining of subgraphs ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names in different subgraphs may be equal, but those of a graph and its
// subgraphs may not: names that come out of a subgraph are changed if
// necessary.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/SubgraphInliner.h"

#include "mp-opt/Graph/NodeCopier.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Calls `visit` with the name of a node and of all values and nodes that it or
/// its subgraphs define, and with a flag that is true for names of nodes.
static void forEachName(Operation *root,
                        llvm::function_ref<void(StringRef, bool)> visit) {
  root->walk([&](Operation *op) {
    if (isNode(op))
      visit(getNodeName(op), true);
    if (isa<YieldOp>(op))
      return;
    for (Value result : op->getResults())
      visit(onnxir::getValueName(result), false);
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        visit(onnxir::getValueName(argument), false);
  });
}

SubgraphInliner::SubgraphInliner(NodeBuilder &builder, ModuleOp module)
    : builder(builder) {
  forEachName(module, [&](StringRef name, bool isNode) {
    ++(isNode ? nodeNames : valueNames)[name];
  });
}

/// Operations that will be erased no longer reserve their names.
void SubgraphInliner::discountNames(Region &region) {
  for (Operation &op : region.front())
    forEachName(&op, [&](StringRef name, bool isNode) {
      --(isNode ? nodeNames : valueNames)[name];
    });
}

void SubgraphInliner::makeUnique(Operation *op) {
  if (isNode(op))
    if (unsigned &count = nodeNames[getNodeName(op)];
        count > 1 && !getNodeName(op).empty()) {
      --count;
      StringRef name = builder.getNames().getNodeName(getNodeName(op));
      op->setAttr(attr::name, StringAttr::get(op->getContext(), name));
    }
  for (OpResult result : op->getResults()) {
    StringRef name = onnxir::getValueName(result);
    unsigned &count = valueNames[name];
    if (name.empty() || count <= 1)
      continue;
    --count;
    setValueName(result, builder.getNames().getValueName(name));
  }
}

void SubgraphInliner::moveOut(Operation *op, Operation *before) {
  makeUnique(op);
  op->moveBefore(before);
}

void SubgraphInliner::replaceResults(Operation *node, ArrayRef<Value> values) {
  llvm::DenseSet<Value> taken;
  for (auto [result, from] : llvm::zip(node->getResults(), values)) {
    Value value = from;
    if (isa<NoneType>(result.getType()))
      continue;
    std::string name = onnxir::getValueName(result).str();
    Operation *definer = value.getDefiningOp();
    // Only operations that came out of the node may be renamed.
    bool isNew = definer && isNode(definer) && made.contains(definer) &&
                 taken.insert(value).second;
    bool isOutput = llvm::any_of(
        result.getUsers(), [](Operation *user) { return isa<YieldOp>(user); });
    if (!isNew && isOutput)
      value = builder.create("Identity", {value}, {}, value.getType());
    value.setType(NodeTypes::refine(value.getType(), result.getType()));
    result.replaceAllUsesWith(value);
    if (name.empty() || (!isNew && !isOutput))
      continue;
    setValueName(result, "");
    setValueName(cast<OpResult>(value), name);
  }
  made.clear();
}

void SubgraphInliner::inlineBranch(Operation *node, Region &branch) {
  for (Region &other : node->getRegions())
    if (&other != &branch)
      discountNames(other);
  builder.setInsertionPoint(node);
  builder.setBase(getNodeName(node));
  SmallVector<Value> values(getYield(branch).getOperands());
  for (Operation &op : llvm::make_early_inc_range(branch.front())) {
    if (isa<YieldOp>(op))
      continue;
    moveOut(&op, node);
    made.insert(&op);
  }
  replaceResults(node, values);
}

/// True for constants: those stored with the model, and Constant nodes.
static bool isConstant(Operation &op) {
  return isa<InitializerOp>(op) || isStandardOp(&op, "Constant");
}

void SubgraphInliner::unrollLoop(Operation *loop, int64_t iterations) {
  Region &body = loop->getRegion(0);
  YieldOp yield = getYield(body);
  for (Operation &op : llvm::make_early_inc_range(body.front()))
    if (isConstant(op))
      moveOut(&op, loop);
  builder.setInsertionPoint(loop);
  std::string prefix = getNodeName(loop).str();
  if (prefix.empty())
    prefix = onnxir::getValueName(loop->getResult(0)).str();
  builder.setBase(prefix);
  SmallVector<Value> states(loop->getOperands().drop_front(2));
  SmallVector<SmallVector<Value>> scanned(loop->getNumResults() -
                                          states.size());
  for (int64_t index = 0; index < iterations; ++index) {
    NodeCopier copier(builder, prefix + "/" + std::to_string(index));
    if (Value number = body.getArgument(0); !number.use_empty())
      copier.mapping.map(number, builder.intScalar(index));
    if (Value condition = body.getArgument(1); !condition.use_empty())
      copier.mapping.map(condition, builder.boolScalar(true));
    for (auto [argument, state] :
         llvm::zip(body.getArguments().drop_front(2), states))
      copier.mapping.map(argument, state);
    for (Operation *op : copier.copy(body.front()))
      made.insert(op);
    auto yielded = [&](size_t place) {
      return copier.mapping.lookupOrDefault(yield.getOperand(1 + place));
    };
    for (auto [place, state] : llvm::enumerate(states))
      state = yielded(place);
    for (auto [place, list] : llvm::enumerate(scanned))
      list.push_back(builder.unsqueeze(yielded(states.size() + place), {0}));
  }
  for (ArrayRef<Value> list : scanned) {
    states.push_back(builder.concat(list, 0));
    made.insert(states.back().getDefiningOp());
  }
  discountNames(body);
  replaceResults(loop, states);
}

} // namespace mp
