//===- Regions.cpp - The nodes between two names --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region contains the nodes that can be reached from its start and reach its
// end. Data flows from a node to its users; into a body through its arguments
// and captured values; out of it, through its yield, to the results of the node
// that holds it. Two passes over the edges visit each node once.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/NodeOverrides.h"

#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// A set of operations that are visited once each.
class Worklist {
public:
  void add(Operation *op) {
    // A yield counts as the node whose body it ends.
    if (isa_and_nonnull<YieldOp>(op))
      op = op->getParentOp();
    if (op && isNode(op) && seen.insert(op).second)
      pending.push_back(op);
  }
  void addDefinition(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      add(argument.getOwner()->getParentOp());
    else
      add(value.getDefiningOp());
  }
  Operation *take() {
    return pending.empty() ? nullptr : pending.pop_back_val();
  }
  bool contains(Operation *op) const { return seen.contains(op); }

private:
  llvm::DenseSet<Operation *> seen;
  SmallVector<Operation *> pending;
};

/// One end of a region: nodes, or a value.
struct End {
  SmallVector<Operation *> nodes;
  Value value;
};

class RegionFinder {
public:
  RegionFinder(ModuleOp module, const NodeRule &rule);
  FailureOr<std::vector<Operation *>> run();

private:
  FailureOr<End> find(StringRef name);
  Worklist reachFrom(const End &end);
  Worklist reach(const End &end);
  std::vector<Operation *> intersect(const End &from, const End &to);

  ModuleOp module;
  const NodeRule &rule;
  std::vector<Operation *> nodes;
  llvm::StringMap<SmallVector<Operation *, 1>> byNode;
  llvm::StringMap<Value> byValue;
};

} // namespace

RegionFinder::RegionFinder(ModuleOp module, const NodeRule &rule)
    : module(module), rule(rule) {
  auto addValues = [&](ValueRange values) {
    for (Value value : values)
      if (StringRef name = getValueName(value);
          name == rule.text || name == rule.other)
        byValue.try_emplace(name, value);
  };
  for (Operation *scope : getScopes(module))
    scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          addValues(block.getArguments());
      if (op != scope)
        addValues(op->getResults());
      if (!isNode(op))
        return;
      nodes.push_back(op);
      if (StringRef name = getNodeName(op);
          name == rule.text || name == rule.other)
        byNode[name].push_back(op);
    });
}

FailureOr<End> RegionFinder::find(StringRef name) {
  End end;
  if (auto it = byNode.find(name); !name.empty() && it != byNode.end())
    end.nodes.assign(it->second.begin(), it->second.end());
  else if (auto found = byValue.find(name);
           !name.empty() && found != byValue.end())
    end.value = found->second;
  else {
    std::vector<StringRef> names;
    for (Operation *node : nodes) {
      names.push_back(getNodeName(node));
      for (Value result : node->getResults())
        names.push_back(getValueName(result));
    }
    llvm::erase_if(names, [](StringRef text) { return text.empty(); });
    return module.emitError()
           << rule.describe() << ": no node or value is called '" << name << "'"
           << suggestNearest(name, names);
  }
  return end;
}

/// The nodes that depend on `end`, including its own nodes.
Worklist RegionFinder::reachFrom(const End &end) {
  Worklist list;
  auto addUsers = [&](Value value) {
    for (Operation *user : value.getUsers())
      list.add(user);
  };
  for (Operation *node : end.nodes)
    list.add(node);
  if (end.value)
    addUsers(end.value);
  while (Operation *node = list.take()) {
    for (Value result : node->getResults())
      addUsers(result);
    for (Region &region : node->getRegions())
      for (Value argument : region.getArguments())
        addUsers(argument);
  }
  return list;
}

/// The nodes that `end` depends on, including its own nodes.
Worklist RegionFinder::reach(const End &end) {
  Worklist list;
  for (Operation *node : end.nodes)
    list.add(node);
  if (end.value)
    list.addDefinition(end.value);
  while (Operation *node = list.take()) {
    for (Value operand : node->getOperands())
      list.addDefinition(operand);
    for (Region &region : node->getRegions())
      if (YieldOp yield = getYield(region))
        for (Value operand : yield->getOperands())
          list.addDefinition(operand);
  }
  return list;
}

std::vector<Operation *> RegionFinder::intersect(const End &from,
                                                 const End &to) {
  Worklist forward = reachFrom(from), backward = reach(to);
  std::vector<Operation *> region;
  for (Operation *node : nodes)
    if (forward.contains(node) && backward.contains(node))
      region.push_back(node);
  return region;
}

FailureOr<std::vector<Operation *>> RegionFinder::run() {
  FailureOr<End> from = find(rule.text);
  FailureOr<End> to = failed(from) ? FailureOr<End>() : find(rule.other);
  if (failed(from) || failed(to))
    return failure();
  std::vector<Operation *> region = intersect(*from, *to);
  if (!region.empty())
    return region;
  InFlightDiagnostic diag = module.emitError()
                            << rule.describe() << ": no path leads from '"
                            << rule.text << "' to '" << rule.other << "'";
  if (!intersect(*to, *from).empty())
    diag << ", but one leads from '" << rule.other << "' to '" << rule.text
         << "'";
  return diag;
}

FailureOr<std::vector<Operation *>> findRegion(ModuleOp module,
                                               const NodeRule &rule) {
  return RegionFinder(module, rule).run();
}

} // namespace mp
