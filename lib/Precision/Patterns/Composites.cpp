//===- Composites.cpp - Decomposed operators ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Patterns/Composites.h"

#include "CompositeContext.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

bool CompositeContext::isCopy(Operation *op) const {
  return op && op->getNumOperands() &&
         (kinds.lookup(op).kind == OperatorKind::Movement ||
          getMath(op) == OperatorMath::Cast);
}

bool CompositeContext::isPlain(Operation *op) const {
  OperatorKind kind = kinds.lookup(op).kind;
  if (kind != OperatorKind::Elementwise && kind != OperatorKind::Movement)
    return false;
  switch (getMath(op)) {
  case OperatorMath::Other:
  case OperatorMath::Cast:
  case OperatorMath::Clip:
  case OperatorMath::Max:
  case OperatorMath::Min:
  case OperatorMath::Periodic:
  case OperatorMath::Remainder:
  case OperatorMath::Where:
  case OperatorMath::Whole:
    return true;
  default:
    return false;
  }
}

/// Orders nodes and composites; a node of two composites stays in the first.
static void arrange(ArrayRef<Operation *> nodes,
                    std::vector<Composite> &composites) {
  if (composites.empty())
    return;
  llvm::DenseMap<Operation *, unsigned> indices;
  indices.reserve(nodes.size());
  for (auto [index, node] : llvm::enumerate(nodes))
    indices[node] = index;
  auto isBefore = [&](Operation *a, Operation *b) {
    return indices.lookup(a) < indices.lookup(b);
  };
  for (Composite &composite : composites) {
    llvm::erase_if(composite.nodes,
                   [&](Operation *op) { return !indices.contains(op); });
    llvm::sort(composite.nodes, isBefore);
    composite.nodes.erase(llvm::unique(composite.nodes), composite.nodes.end());
  }
  llvm::erase_if(composites,
                 [](Composite &composite) { return composite.nodes.empty(); });
  llvm::stable_sort(composites, [&](const Composite &a, const Composite &b) {
    return isBefore(a.nodes.front(), b.nodes.front());
  });
  llvm::DenseSet<Operation *> taken;
  for (Composite &composite : composites)
    llvm::erase_if(composite.nodes,
                   [&](Operation *op) { return !taken.insert(op).second; });
  llvm::erase_if(composites,
                 [](Composite &composite) { return composite.nodes.empty(); });
}

std::vector<Composite> findComposites(Operation *scope) {
  OperatorTraitsCache kinds;
  ReductionLevels levels(scope, kinds);
  ReduceBroadcastFinder finder(levels, kinds);
  std::vector<ReduceBroadcast> patterns;
  for (Operation *node : levels.getNodes())
    if (kinds.lookup(node).reduces() && node->getNumOperands() &&
        isFloatTensor(node->getOperand(0).getType()) &&
        levels.lookup(node->getOperand(0)) != ReductionLevels::constantLevel)
      patterns.push_back(finder.find(node));
  std::vector<Composite> composites;
  CompositeContext context = {levels, kinds, composites};
  findReductionComposites(context, patterns);
  findProductComposites(context, patterns);
  findFunctionComposites(context);
  arrange(levels.getNodes(), composites);
  return composites;
}

} // namespace mp
