//===- ReductionOverlap.cpp - Computing while ranks reduce ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/ReductionOverlap.h"

#include "mp-opt/Codegen/Common/MemoryAccesses.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace mp {

/// The first op after `wait` that does more with `memory` than view it; null if
/// none does.
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

/// Moves the starts of a bucket's members, as far as they come before a wait
/// for the bucket, to the last of them.
static void gatherStarts(Block &block) {
  llvm::MapVector<int64_t, SmallVector<runtime::ReduceStartOp>> open;
  auto gather = [](SmallVector<runtime::ReduceStartOp> &members) {
    for (runtime::ReduceStartOp member : ArrayRef(members).drop_back())
      member->moveBefore(members.back());
    members.clear();
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto start = dyn_cast<runtime::ReduceStartOp>(op))
      open[start.getBucket()].push_back(start);
    else if (auto wait = dyn_cast<runtime::ReduceWaitOp>(op))
      if (auto &members = open[wait.getBucket()]; !members.empty())
        gather(members);
  }
}

/// Moves each wait right after the wait before it, if its reduction has started
/// by then.
static void gatherWaits(Block &block) {
  Operation *last = nullptr;
  llvm::DenseSet<Value> since;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto start = dyn_cast<runtime::ReduceStartOp>(op)) {
      since.insert(getRoot(start.getMemory()));
    } else if (auto wait = dyn_cast<runtime::ReduceWaitOp>(op)) {
      if (!last || since.contains(getRoot(wait.getMemory())))
        since.clear();
      else
        wait->moveAfter(last);
      last = wait;
    }
  }
}

void gatherReductions(func::FuncOp function) {
  function.walk([](runtime::ReduceStartOp op) { op.getRowsMutable().clear(); });
  // Adjacent starts and waits are one interaction of the host with the device.
  gatherStarts(function.front());
  gatherWaits(function.front());
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
