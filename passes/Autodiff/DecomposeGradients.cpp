//===- DecomposeGradients.cpp - Write gradient ops in standard ONNX -------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Autodiff/Passes.h"

#include "mp-opt/Autodiff/Decompositions.h"

namespace mp {
#define GEN_PASS_DEF_DECOMPOSEGRADIENTS
#include "Autodiff/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct DecomposeGradients
    : public mp::impl::DecomposeGradientsBase<DecomposeGradients> {
  using DecomposeGradientsBase::DecomposeGradientsBase;

  void runOnOperation() override;
};

} // namespace

/// Removes the import of a domain that no node uses.
static void removeImport(Operation *holder, StringRef domain) {
  auto imports = holder->getAttrOfType<ArrayAttr>(attr::opsets);
  bool isUsed = holder
                    ->walk([&](Operation *op) {
                      return isNode(op) && getDomain(op) == domain
                                 ? WalkResult::interrupt()
                                 : WalkResult::advance();
                    })
                    .wasInterrupted();
  if (!imports || isUsed)
    return;
  SmallVector<Attribute> kept;
  for (Attribute entry : imports) {
    auto pair = dyn_cast<ArrayAttr>(entry);
    auto name =
        pair && !pair.empty() ? dyn_cast<StringAttr>(pair[0]) : StringAttr();
    if (!name || name.getValue() != domain)
      kept.push_back(entry);
  }
  holder->setAttr(attr::opsets, ArrayAttr::get(holder->getContext(), kept));
}

/// Nodes to decompose, with their decompositions.
static std::vector<std::pair<Operation *, const Decomposition *>>
findNodes(ModuleOp module, bool contractions) {
  std::vector<std::pair<Operation *, const Decomposition *>> nodes;
  module.walk([&](Operation *op) {
    // Runtimes also write these operators in the default domain.
    if (!isNode(op))
      return;
    const Decomposition *found = findDecomposition(op);
    if (found && (found->isContraction || !contractions))
      nodes.emplace_back(op, found);
  });
  return nodes;
}

void DecomposeGradients::runOnOperation() {
  ModuleOp module = getOperation();
  auto nodes = findNodes(module, contractions);
  if (nodes.empty())
    return;
  NodeBuilder builder(module);
  // Decompositions may write ops of the vocabulary, such as sums over
  // broadcast axes.
  for (; !nodes.empty(); nodes = findNodes(module, contractions))
    for (auto &[node, decomposition] : nodes)
      if (failed(decompose(builder, node, *decomposition)))
        return signalPassFailure();
  eraseUnusedConstants(module);
  module.walk([&](Operation *op) {
    if (isa<ModuleOp, FunctionOp>(op))
      removeImport(op, "com.microsoft");
  });
}
