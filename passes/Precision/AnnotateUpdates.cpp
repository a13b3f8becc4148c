//===- AnnotateUpdates.cpp - Mark what comes after the gradients ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Casts.h"

namespace mp {
#define GEN_PASS_DEF_ANNOTATEUPDATES
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct AnnotateUpdates : public mp::impl::AnnotateUpdatesBase<AnnotateUpdates> {
  void runOnOperation() override;
};

} // namespace

using Walk = llvm::DenseSet<Operation *>;

/// The ops of `block` that feed `op`, also through values that its subgraphs
/// capture.
static void getProducers(Operation *op, Block &block,
                         SmallVectorImpl<Operation *> &producers) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        if (producer->getBlock() == &block)
          producers.push_back(producer);
  });
}

/// Adds all ops that `reached` depends on, except for those in `border`.
static void addAncestors(Block &block, Walk &reached, const Walk &border) {
  std::vector<Operation *> queue(reached.begin(), reached.end());
  SmallVector<Operation *> producers;
  while (!queue.empty()) {
    producers.clear();
    getProducers(queue.back(), block, producers);
    queue.pop_back();
    for (Operation *producer : producers)
      if (!border.contains(producer) && reached.insert(producer).second)
        queue.push_back(producer);
  }
}

/// The ops that depend on gradients.
static Walk findSteps(Block &block) {
  std::vector<Operation *> queue;
  for (auto gradient : block.getOps<GradientOp>())
    queue.push_back(gradient);
  Walk reached(queue.begin(), queue.end());
  while (!queue.empty()) {
    Operation *op = queue.back();
    queue.pop_back();
    for (Operation *user : op->getUsers()) {
      // A use inside a subgraph counts as a use by the node with the subgraph.
      user = block.findAncestorOpInBlock(*user);
      if (user && reached.insert(user).second)
        queue.push_back(user);
    }
  }
  // The terminator is excluded: it uses everything.
  reached.erase(block.getTerminator());
  return reached;
}

void AnnotateUpdates::runOnOperation() {
  GraphOp graph = getMainGraph(getOperation());
  if (!graph)
    return;
  Block &block = graph.getBody().front();
  StringRef reason = "part of the optimizer's step";
  // The decay of a state or of a parameter, and bias corrections, use no
  // gradient: the step depends on them, but the gradients do not.
  Walk steps = findSteps(block), passes;
  for (auto gradient : block.getOps<GradientOp>())
    passes.insert(gradient);
  addAncestors(block, passes, {});
  addAncestors(block, steps, passes);
  for (Operation *op : steps)
    op->walk([&](Operation *node) {
      if (isNode(node) && !getHazard(node)) {
        addHazard(node, reason);
        node->setAttr(mark::added, UnitAttr::get(&getContext()));
      }
    });
}
