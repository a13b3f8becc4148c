//===- FoldSequences.cpp - Elements of sequences without the sequence -----===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/SequenceElements.h"
#include "mp-opt/Operators/NodeView.h"

namespace mp {
#define GEN_PASS_DEF_FOLDSEQUENCES
#include "Graph/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct FoldSequences : public mp::impl::FoldSequencesBase<FoldSequences> {
  using FoldSequencesBase::FoldSequencesBase;

  void runOnOperation() override;
};

} // namespace

static bool isYielded(Value value) {
  return llvm::any_of(value.getUsers(),
                      [](Operation *user) { return isa<YieldOp>(user); });
}

/// Replaces the element that `node` takes from a sequence by `value`. `isNew`
/// is true if the value was made for that. An output of a graph keeps its name.
static void replaceNode(NodeBuilder &builder, Operation *node, Value value,
                        bool isNew) {
  Value result = node->getResult(0);
  std::string name = onnxir::getValueName(result).str();
  bool keepsName = isYielded(result);
  if (keepsName && !isNew)
    value = builder.create("Identity", {value}, {}, value.getType());
  value.setType(NodeTypes::refine(value.getType(), result.getType()));
  result.replaceAllUsesWith(value);
  if (keepsName) {
    setValueName(cast<OpResult>(result), "");
    setValueName(cast<OpResult>(value), name);
  }
  builder.getTypes().forget(node);
  node->erase();
  // The type of the value may give its users better types.
  SmallVector<Operation *> worklist(value.getUsers());
  while (!worklist.empty()) {
    Operation *user = worklist.pop_back_val();
    if (!isNode(user))
      continue;
    SmallVector<Type> before(user->getResultTypes());
    builder.getTypes().inferResults(user, {});
    for (auto [after, type] : llvm::zip(user->getResults(), before))
      if (after.getType() != type)
        llvm::append_range(worklist, after.getUsers());
  }
}

void FoldSequences::runOnOperation() {
  GraphOp graph = getMainGraph(getOperation());
  if (!graph || getOpset(getOperation(), "").value_or(1) < 13)
    return;
  SmallVector<Operation *> nodes;
  graph.walk([&](Operation *op) {
    if (isNode(op) && (isStandardOp(op, "SequenceAt") ||
                       isStandardOp(op, "ConcatFromSequence")))
      nodes.push_back(op);
  });
  if (nodes.empty())
    return;
  NodeBuilder builder(getOperation());
  SequenceElements sequences(builder);
  for (Operation *node : nodes) {
    StringRef name = getNodeName(node);
    builder.setBase(name.empty() ? onnxir::getValueName(node->getResult(0))
                                 : name);
    builder.setInsertionPoint(node);
    Operation *before = node->getPrevNode();
    Value value = isStandardOp(node, "SequenceAt")
                      ? sequences.take(node->getOperand(0), node->getOperand(1))
                      : sequences.join(node);
    Operation *last = node->getPrevNode();
    if (value)
      replaceNode(builder, node, value,
                  last != before && last == value.getDefiningOp());
  }
  sequences.eraseUnused();
}
