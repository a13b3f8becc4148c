//===- IterationCounts.cpp - Iteration counts of loops --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/IterationCounts.h"

#include "mp-opt/Dialect/ONNX/Nodes.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// True if `value` depends on more than constants, sizes and the number of an
/// iteration.
static bool dependsOnData(Value value) {
  SmallVector<Value> worklist{value};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      Operation *around = argument.getOwner()->getParentOp();
      if (!isNode(around) || !isStandardOp(around, "Loop") ||
          argument.getArgNumber() > 1)
        return true;
      continue;
    }
    Operation *node = next.getDefiningOp();
    if (node->getNumRegions())
      return true;
    if (isNode(node) && !isStandardOp(node, "Shape") &&
        !isStandardOp(node, "Size"))
      llvm::append_range(worklist, node->getOperands());
  }
  return false;
}

bool hasOpenCount(Operation *loop) {
  Value goesOn = getYield(loop->getRegion(0)).getOperand(0);
  return dependsOnData(loop->getOperand(0)) ||
         dependsOnData(loop->getOperand(1)) || dependsOnData(goesOn);
}

bool hasConstantCount(Operation *loop) {
  auto count = getConstantInts(loop->getOperand(0));
  return count && count->size() == 1 && count->front() > 0 &&
         !hasOpenCount(loop);
}

} // namespace mp
