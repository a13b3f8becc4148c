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

/// Where nothing else is done between two starts of a bucket, or two waits, the
/// host has to do with the device once.
static void gather(Block &block) {
  // Of each bucket, what has been handed over and not been waited for.
  llvm::DenseMap<int64_t, SmallVector<runtime::ReduceStartOp>> open;
  // Behind it, waits are gathered; and what has started since.
  Operation *lastWait = nullptr;
  llvm::DenseSet<Value> since;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto start = dyn_cast<runtime::ReduceStartOp>(op)) {
      SmallVector<runtime::ReduceStartOp> &members = open[start.getBucket()];
      for (runtime::ReduceStartOp member : members)
        member->moveBefore(start);
      members.push_back(start);
      since.insert(getRoot(start.getMemory()));
    } else if (auto wait = dyn_cast<runtime::ReduceWaitOp>(op)) {
      open[wait.getBucket()].clear();
      if (!lastWait || since.contains(getRoot(wait.getMemory())))
        since.clear();
      else
        wait->moveAfter(lastWait);
      lastWait = wait;
    }
  }
}

void gatherReductions(func::FuncOp function) {
  function.walk([](runtime::ReduceStartOp op) { op.getRowsMutable().clear(); });
  gather(function.front());
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
