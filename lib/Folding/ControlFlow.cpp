//===- ControlFlow.cpp - Known branches and iterations --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Iterations are evaluated one after the other, with the integers in their
// states.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Folding/ControlFlow.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

Region *getTakenBranch(Operation *node, const KnownTensors &known) {
  if (!isStandardOp(node, "If") || !hasOperand(node, 0))
    return nullptr;
  const KnownTensor *condition = known.lookup(node->getOperand(0));
  auto single = condition ? condition->getSingle() : std::nullopt;
  auto names = node->getAttrOfType<ArrayAttr>(attr::regions);
  if (!single || !names)
    return nullptr;
  auto wanted = StringAttr::get(node->getContext(),
                                *single ? "then_branch" : "else_branch");
  for (auto [name, region] : llvm::zip(names, node->getRegions()))
    if (name == wanted)
      if (YieldOp yield = getYield(region);
          yield && yield.getNumOperands() == node->getNumResults() &&
          !region.getNumArguments())
        return &region;
  return nullptr;
}

/// True for a Loop whose parts fit each other, and whose body has the same
/// effect in each copy.
static bool canUnroll(Operation *loop) {
  if (!isStandardOp(loop, "Loop") || loop->getNumRegions() != 1 ||
      loop->getNumOperands() < 2)
    return false;
  Region &body = loop->getRegion(0);
  YieldOp yield = getYield(body);
  if (!yield || body.getNumArguments() != loop->getNumOperands() ||
      yield.getNumOperands() != loop->getNumResults() + 1 ||
      loop->getNumResults() + 2 < loop->getNumOperands())
    return false;
  for (BlockArgument argument : body.getArguments().take_front(2))
    if (auto type = dyn_cast<RankedTensorType>(argument.getType());
        type && type.getRank() != 0)
      return false;
  // Schemas of nodes with subgraphs do not say; the nodes inside do.
  return !body.walk([](Operation *op) {
                bool isPlain = isNode(op) && !op->getNumRegions();
                const OpSchema *schema = isPlain ? getSchema(op) : nullptr;
                return schema && !schema->deterministic
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

/// Finds the known values of the nodes of `block`. Returns the number of nodes
/// that remain when known ones become constants.
static int64_t evaluate(Block &block, KnownTensors &known) {
  int64_t left = 0;
  for (Operation &op : block.without_terminator()) {
    if (Region *branch = getTakenBranch(&op, known)) {
      left += evaluate(branch->front(), known);
      for (auto [result, value] :
           llvm::zip(op.getResults(), getYield(*branch).getOperands()))
        if (const KnownTensor *tensor = known.lookup(value))
          known.set(result, KnownTensor(*tensor));
      continue;
    }
    known.visit(&op);
    bool isKnown = llvm::all_of(op.getResults(), [&](Value result) {
      const KnownTensor *tensor = known.lookup(result);
      return tensor && tensor->isComplete();
    });
    if (isNode(&op) && op.getNumOperands() && !isKnown)
      op.walk([&](Operation *inner) { left += isNode(inner); });
  }
  return left;
}

std::optional<int64_t>
countIterations(Operation *loop, const KnownTensors &known, int64_t limit) {
  if (!canUnroll(loop))
    return std::nullopt;
  Block &body = loop->getRegion(0).front();
  auto read = [&](unsigned index, int64_t absent) -> std::optional<int64_t> {
    if (!hasOperand(loop, index))
      return absent;
    const KnownTensor *tensor = known.lookup(loop->getOperand(index));
    return tensor ? tensor->getSingle() : std::nullopt;
  };
  auto most = read(0, std::numeric_limits<int64_t>::max());
  auto goesOn = read(1, 1);
  SmallVector<std::optional<KnownTensor>> states;
  for (Value value : loop->getOperands().drop_front(2)) {
    const KnownTensor *tensor = known.lookup(value);
    states.push_back(tensor ? std::optional(*tensor) : std::nullopt);
  }
  Operation *yield = body.getTerminator();
  int64_t nodes = 0;
  for (int64_t count = 0;; ++count) {
    // A count of no iterations, or the last iteration, needs no condition.
    if ((most && count >= *most) || (goesOn && !*goesOn)) {
      bool hasScanned = loop->getNumResults() > states.size();
      return count || !hasScanned ? std::optional(count) : std::nullopt;
    }
    if (!most || !goesOn)
      return std::nullopt;
    KnownTensors inside(&known);
    inside.set(body.getArgument(0), {{}, {count}});
    inside.set(body.getArgument(1), {{}, {int64_t(1)}});
    for (auto [place, state] : llvm::enumerate(states))
      if (state)
        inside.set(body.getArgument(place + 2), *state);
    // Count at least one node per iteration, so that empty bodies also end.
    nodes += std::max<int64_t>(evaluate(body, inside), 1);
    if (count > 0 && nodes > limit)
      return std::nullopt;
    auto take = [&](unsigned place) -> std::optional<KnownTensor> {
      const KnownTensor *tensor = inside.lookup(yield->getOperand(place));
      return tensor ? std::optional(*tensor) : std::nullopt;
    };
    auto condition = take(0);
    goesOn = condition ? condition->getSingle() : std::nullopt;
    for (auto [place, state] : llvm::enumerate(states))
      state = take(place + 1);
  }
}

} // namespace mp
