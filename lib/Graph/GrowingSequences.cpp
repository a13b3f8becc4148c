//===- GrowingSequences.cpp - Sequences that loops append to --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/GrowingSequences.h"

#include "mp-opt/Graph/IterationCounts.h"
#include "mp-opt/Operators/NodeView.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

bool isAppend(Operation *node) {
  return node && isNode(node) && isStandardOp(node, "SequenceInsert") &&
         !hasOperand(node, 2);
}

/// The elements of a sequence that is built before a loop.
static std::optional<SmallVector<Value>> getElements(Value sequence) {
  SmallVector<Value> elements;
  Operation *node = sequence.getDefiningOp();
  for (; isAppend(node); node = node->getOperand(0).getDefiningOp())
    elements.push_back(node->getOperand(1));
  std::reverse(elements.begin(), elements.end());
  if (!node || !isNode(node))
    return std::nullopt;
  if (isStandardOp(node, "SequenceConstruct"))
    elements.insert(elements.begin(), node->operand_begin(),
                    node->operand_end());
  else if (!isStandardOp(node, "SequenceEmpty"))
    return std::nullopt;
  return elements;
}

/// True if a tensor with `element`s along a new axis can replace the sequence
/// for all readers. If sizes of elements may differ, it can only if
/// `isRequired`: the sequence cannot be compiled otherwise.
static bool canBeStacked(Value sequence, RankedTensorType element,
                         bool isRequired) {
  bool isUniform = element.hasStaticShape() || isRequired;
  for (Operation *user : sequence.getUsers()) {
    if (isStandardOp(user, "SequenceLength"))
      continue;
    if (isStandardOp(user, "ConcatFromSequence")) {
      NodeView view(user);
      bool isNew = view.getFlag("new_axis");
      auto axis = view.axisIn(element.getRank() + isNew);
      if (!axis || (!isNew && element.isDynamicDim(*axis) && !isRequired))
        return false;
      isUniform = true;
      continue;
    }
    auto position =
        isStandardOp(user, "SequenceAt")
            ? dyn_cast<RankedTensorType>(user->getOperand(1).getType())
            : RankedTensorType();
    if (!position || position.getRank() != 0)
      return false;
  }
  return isUniform;
}

static std::optional<GrowingState> findState(Operation *loop, unsigned index) {
  auto before = getElements(loop->getOperand(2 + index));
  if (!before)
    return std::nullopt;
  Region &body = loop->getRegion(0);
  Value argument = body.getArgument(2 + index);
  Value last = getYield(body).getOperand(1 + index);
  GrowingState state{index, *before, {}};
  for (Operation *node = last.getDefiningOp();
       isAppend(node) && node->getBlock() == &body.front();
       node = last.getDefiningOp()) {
    state.inserts.push_back(node);
    last = node->getOperand(0);
  }
  std::reverse(state.inserts.begin(), state.inserts.end());
  if (last != argument || state.inserts.empty())
    return std::nullopt;
  auto element = dyn_cast<RankedTensorType>(
      state.inserts.front()->getOperand(1).getType());
  if (!element ||
      !canBeStacked(loop->getResult(index), element, hasOpenCount(loop)))
    return std::nullopt;
  // Inside the loop, only the next node and lengths may read the sequence.
  SmallVector<Value> sequences{argument};
  for (Operation *insert : state.inserts)
    sequences.push_back(insert->getResult(0));
  for (auto [place, sequence] : llvm::enumerate(sequences))
    for (Operation *user : sequence.getUsers()) {
      bool isNext = place < state.inserts.size()
                        ? user == state.inserts[place]
                        : user == getYield(body).getOperation();
      if (!isNext && !isStandardOp(user, "SequenceLength"))
        return std::nullopt;
    }
  return state;
}

SmallVector<GrowingState> findGrowingStates(Operation *loop) {
  SmallVector<GrowingState> states;
  for (unsigned index = 0; index + 2 < loop->getNumOperands(); ++index)
    if (isa<SequenceType>(loop->getOperand(2 + index).getType()))
      if (auto state = findState(loop, index))
        states.push_back(*state);
  return states;
}

} // namespace mp
