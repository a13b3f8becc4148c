//===- StateCycles.cpp - Nodes that iterations accumulate in --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Applies Tarjan's algorithm (SIAM J. Comput. 1, 1972) to the float values that
// states reach, without recursion.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Analysis/StateCycles.h"

#include "mp-opt/Graph/ValueFlow.h"
#include "mp-opt/Operators/OperatorTraits.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

class CycleFinder {
public:
  explicit CycleFinder(const ValueFlow &flow) : flow(flow) {}

  /// Calls `take` with the values of each component that `state` reaches and
  /// that has not been visited before.
  void visit(Value state,
             llvm::function_ref<void(ArrayRef<Value> component)> take);

private:
  struct Vertex {
    Value value;
    unsigned lowLink;
    bool isOnStack = true;
    /// Successors that have not been followed yet.
    SmallVector<Value, 4> next = {};
  };

  std::pair<unsigned, bool> number(Value value);
  SmallVector<Value, 4> getSuccessors(Value value);

  const ValueFlow &flow;
  OperatorTraitsCache kinds;
  std::vector<Vertex> vertices;
  llvm::DenseMap<Value, unsigned> numbers;
  std::vector<unsigned> stack;
};

} // namespace

static bool holdsFloats(Type type) {
  auto sequence = dyn_cast<SequenceType>(type);
  return isFloatTensor(sequence ? sequence.getElementType() : type);
}

SmallVector<Value, 4> CycleFinder::getSuccessors(Value value) {
  SmallVector<Value, 4> found;
  auto take = [&](Value target) {
    if (holdsFloats(target.getType()))
      found.push_back(target);
  };
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (flow.forEachTarget(use, take) || !isNode(user) ||
        kinds.lookup(user).contracts())
      continue;
    llvm::for_each(user->getResults(), take);
  }
  return found;
}

std::pair<unsigned, bool> CycleFinder::number(Value value) {
  auto [it, isNew] = numbers.try_emplace(value, vertices.size());
  if (isNew) {
    vertices.push_back({value, unsigned(vertices.size())});
    stack.push_back(it->second);
  }
  return {it->second, isNew};
}

void CycleFinder::visit(
    Value state, llvm::function_ref<void(ArrayRef<Value> component)> take) {
  auto [first, isNew] = number(state);
  if (!isNew)
    return;
  SmallVector<unsigned> path;
  auto open = [&](unsigned index) {
    path.push_back(index);
    vertices[index].next = getSuccessors(vertices[index].value);
  };
  open(first);
  while (!path.empty()) {
    unsigned index = path.back();
    if (!vertices[index].next.empty()) {
      Value target = vertices[index].next.pop_back_val();
      auto [next, isNewTarget] = number(target);
      if (isNewTarget)
        open(next);
      else if (vertices[next].isOnStack)
        vertices[index].lowLink = std::min(vertices[index].lowLink, next);
      continue;
    }
    path.pop_back();
    if (!path.empty())
      vertices[path.back()].lowLink =
          std::min(vertices[path.back()].lowLink, vertices[index].lowLink);
    if (vertices[index].lowLink != index)
      continue;
    SmallVector<Value> component;
    unsigned member;
    do {
      member = stack.back();
      stack.pop_back();
      vertices[member].isOnStack = false;
      component.push_back(vertices[member].value);
    } while (member != index);
    take(component);
  }
}

/// True if the op moves or selects elements, and computes nothing.
static bool isExact(Operation *op, const OperatorTraits &traits) {
  return traits.has(Exact) && !op->hasAttr("reduction");
}

/// The states of Loop and Scan, as arguments of their bodies.
static SmallVector<Value> collectStates(const ValueFlow &flow) {
  SmallVector<Value> found;
  for (Operation *op : flow.getOps()) {
    Operation *parent = isa<YieldOp>(op) ? op->getParentOp() : nullptr;
    if (!parent || !isControlFlow(parent))
      continue;
    for (OpOperand &use : op->getOpOperands())
      forEachFlowTarget(use, [&](Value target) {
        if (isa<BlockArgument>(target) && holdsFloats(target.getType()))
          found.push_back(target);
      });
  }
  return found;
}

StateCycles::StateCycles(const ValueFlow &flow) {
  CycleFinder finder(flow);
  OperatorTraitsCache kinds;
  llvm::DenseSet<Operation *> computing;
  auto take = [&](ArrayRef<Value> component) {
    auto nodesOf = llvm::make_filter_range(component, [&](Value value) {
      Operation *op = value.getDefiningOp();
      return op && isNode(op) && !isControlFlow(op) && !flow.isCall(op);
    });
    bool computes = llvm::any_of(nodesOf, [&](Value value) {
      Operation *op = value.getDefiningOp();
      return !isExact(op, kinds.lookup(op));
    });
    // A value alone has no cycle: no node reads its own result.
    if (component.size() == 1 || !computes)
      return;
    // Arguments of functions are not states.
    const auto *state = llvm::find_if(component, [](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument && isControlFlow(argument.getOwner()->getParentOp());
    });
    for (Value value : component)
      states[value] = state == component.end() ? value : *state;
    for (Value value : nodesOf)
      computing.insert(value.getDefiningOp());
  };
  for (Value state : collectStates(flow))
    finder.visit(state, take);
  if (!computing.empty())
    for (Operation *op : flow.getOps())
      if (computing.contains(op))
        nodes.push_back(op);
}

} // namespace mp
