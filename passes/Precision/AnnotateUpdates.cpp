//===- AnnotateUpdates.cpp - Mark what comes behind the gradients ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Precision/Casts.h"

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

void AnnotateUpdates::runOnOperation() {
  GraphOp graph = getMainGraph(getOperation());
  if (!graph)
    return;
  auto reason = StringAttr::get(&getContext(), "part of the optimizer's step");
  std::vector<Operation *> queue;
  for (auto gradient : graph.getBody().getOps<training::GradientOp>())
    queue.push_back(gradient);
  llvm::DenseSet<Operation *> seen(queue.begin(), queue.end());
  while (!queue.empty()) {
    Operation *op = queue.back();
    queue.pop_back();
    if (isNode(op) && !op->hasAttr(mark::hazard))
      op->setAttr(mark::hazard, reason);
    for (Operation *user : op->getUsers()) {
      // What a subgraph captures is for the node that has the subgraph.
      user = graph.getBody().findAncestorOpInRegion(*user);
      if (user && seen.insert(user).second)
        queue.push_back(user);
    }
  }
}
