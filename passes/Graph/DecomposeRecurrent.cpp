//===- DecomposeRecurrent.cpp - Recurrent operators as Scan ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Autodiff/Decompositions.h"

namespace mp {
#define GEN_PASS_DEF_DECOMPOSERECURRENT
#include "Graph/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct DecomposeRecurrent
    : public mp::impl::DecomposeRecurrentBase<DecomposeRecurrent> {
  using DecomposeRecurrentBase::DecomposeRecurrentBase;

  void runOnOperation() override;
};

} // namespace

void DecomposeRecurrent::runOnOperation() {
  ModuleOp module = getOperation();
  std::vector<Operation *> nodes;
  for (auto graph : module.getOps<GraphOp>())
    graph.walk([&](Operation *op) {
      if (isRecurrent(op))
        nodes.push_back(op);
    });
  if (nodes.empty())
    return;
  // From this opset on, Scan has its form, and Squeeze has its axes as an
  // input.
  constexpr int64_t minOpset = 13;
  int64_t opset = getOpset(module, "").value_or(1);
  NodeBuilder builder(module);
  for (Operation *node : nodes) {
    if (opset < minOpset) {
      node->emitError() << describe(node) << ": expected opset " << minOpset
                        << " or newer, found " << opset;
      return signalPassFailure();
    }
    if (failed(decompose(builder, node, *findDecomposition(node))))
      return signalPassFailure();
  }
}
