//===- ReductionOverlap.cpp - Computing while ranks reduce ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/ReductionOverlap.h"

#include "mp-opt/Codegen/Common/MemoryAccesses.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

using namespace mlir;

namespace mp {

/// The first op behind `wait` that does more with `memory` than view it; null
/// if there is none.
static Operation *findFirstUse(runtime::ReduceWaitOp wait, Value memory) {
  Block *block = wait->getBlock();
  Operation *first = nullptr;
  SmallVector<Value> views = {memory};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (user->getNumRegions() == 0 && isMemoryEffectFree(user)) {
        for (Value result : user->getResults())
          if (isa<BaseMemRefType>(result.getType()))
            views.push_back(result);
        continue;
      }
      Operation *op = block->findAncestorOpInBlock(*user);
      if (op && wait->isBeforeInBlock(op) &&
          (!first || op->isBeforeInBlock(first)))
        first = op;
    }
  return first;
}

void delayWaits(func::FuncOp function) {
  SmallVector<runtime::ReduceWaitOp> waits;
  function.walk([&](runtime::ReduceWaitOp op) { waits.push_back(op); });
  for (runtime::ReduceWaitOp wait : waits) {
    Operation *next = findFirstUse(wait, getRoot(wait.getMemory()));
    wait->moveBefore(next ? next : wait->getBlock()->getTerminator());
  }
}

} // namespace mp
