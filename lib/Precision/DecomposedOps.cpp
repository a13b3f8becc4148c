//===- DecomposedOps.cpp - Nodes that stand for one op --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/DecomposedOps.h"

#include "Decompositions.h"
#include "mp-opt/Precision/FloatSignature.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

bool UnitContext::isCopy(Operation *op) const {
  return op && op->getNumOperands() &&
         (kinds.lookup(op).kind == OperatorKind::Movement ||
          getMath(op) == OperatorMath::Cast);
}

bool UnitContext::isPlain(Operation *op) const {
  OperatorKind kind = kinds.lookup(op).kind;
  if (kind != OperatorKind::Elementwise && kind != OperatorKind::Movement)
    return false;
  switch (getMath(op)) {
  case OperatorMath::Other:
  case OperatorMath::Cast:
  case OperatorMath::Clip:
  case OperatorMath::Max:
  case OperatorMath::Min:
  case OperatorMath::Where:
    return true;
  default:
    return false;
  }
}

/// Puts nodes and units in order; a node of two units stays in the first.
static void arrange(ArrayRef<Operation *> nodes,
                    std::vector<DecomposedOp> &units) {
  if (units.empty())
    return;
  llvm::DenseMap<Operation *, unsigned> indices;
  indices.reserve(nodes.size());
  for (auto [index, node] : llvm::enumerate(nodes))
    indices[node] = index;
  auto isBefore = [&](Operation *a, Operation *b) {
    return indices.lookup(a) < indices.lookup(b);
  };
  for (DecomposedOp &unit : units) {
    llvm::erase_if(unit.nodes,
                   [&](Operation *op) { return !indices.contains(op); });
    llvm::sort(unit.nodes, isBefore);
    unit.nodes.erase(llvm::unique(unit.nodes), unit.nodes.end());
  }
  llvm::erase_if(units, [](DecomposedOp &unit) { return unit.nodes.empty(); });
  llvm::stable_sort(units, [&](const DecomposedOp &a, const DecomposedOp &b) {
    return isBefore(a.nodes.front(), b.nodes.front());
  });
  llvm::DenseSet<Operation *> taken;
  for (DecomposedOp &unit : units)
    llvm::erase_if(unit.nodes,
                   [&](Operation *op) { return !taken.insert(op).second; });
  llvm::erase_if(units, [](DecomposedOp &unit) { return unit.nodes.empty(); });
}

std::vector<DecomposedOp> findDecomposedOps(Operation *scope) {
  OperatorTraitsCache kinds;
  ReductionLevels levels(scope, kinds);
  StatisticFinder finder(levels, kinds);
  std::vector<Statistic> statistics;
  for (Operation *node : levels.getNodes())
    if (kinds.lookup(node).reduces() && node->getNumOperands() &&
        isFloatTensor(node->getOperand(0).getType()) &&
        levels.lookup(node->getOperand(0)) != ReductionLevels::weak)
      statistics.push_back(finder.find(node));
  std::vector<DecomposedOp> units;
  UnitContext context = {levels, kinds, units};
  findStatisticUnits(context, statistics);
  findProductUnits(context, statistics);
  findFunctionUnits(context);
  arrange(levels.getNodes(), units);
  return units;
}

} // namespace mp
