//===- ReductionOverlap.cpp - Computing while ranks reduce ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/ReductionOverlap.h"

#include "mp-opt/Codegen/Common/MemoryAccesses.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"

#include <tuple>

using namespace mlir;

namespace mp {

using runtime::CollectiveStartOp;
using runtime::CollectiveWaitOp;

/// The first op after `wait` that does more with `memory` than view it; null if
/// none does.
static Operation *findFirstUse(CollectiveWaitOp wait, Value memory) {
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

/// Moves each wait down to the first op that uses its memory.
static void moveToFirstUse(CollectiveWaitOp wait) {
  Operation *first = wait->getBlock()->getTerminator();
  for (Value member : wait.getMembers())
    if (Operation *use = findFirstUse(wait, getRoot(member)))
      if (use->isBeforeInBlock(first))
        first = use;
  wait->moveBefore(first);
}

namespace {
/// Joins the collectives of a block.
class Joiner {
public:
  explicit Joiner(Block &block) : block(block) {}

  void run();

private:
  /// The bucket, the kind, the type of elements and the memory of the condition
  /// (or the condition itself).
  using Key = std::tuple<int64_t, int32_t, void *, void *>;

  static Key getKey(CollectiveStartOp start);
  void join(CollectiveWaitOp wait);

  Block &block;
  llvm::MapVector<Key, SmallVector<CollectiveStartOp>> open;
  /// The key of the start of a member that is not waited for yet.
  llvm::DenseMap<Value, Key> keys;
  /// Members that an earlier wait includes.
  llvm::DenseSet<Value> awaited;
};
} // namespace

Joiner::Key Joiner::getKey(CollectiveStartOp start) {
  Value condition = start.getCondition();
  if (condition)
    if (auto load = condition.getDefiningOp<memref::LoadOp>())
      condition = getRoot(load.getMemRef());
  auto type = cast<MemRefType>(start.getMembers().front().getType());
  return {start.getBucket(), start.getKind(),
          const_cast<void *>(type.getElementType().getAsOpaquePointer()),
          condition.getAsOpaquePointer()};
}

/// Makes one start of those of the wait's collective, where the last of them
/// is, and one wait.
void Joiner::join(CollectiveWaitOp wait) {
  auto found = keys.find(wait.getMembers().front());
  if (found == keys.end())
    return;
  SmallVector<CollectiveStartOp> starts = std::move(open[found->second]);
  open.erase(found->second);
  SmallVector<Value> members;
  for (CollectiveStartOp start : starts)
    llvm::append_range(members, start.getMembers());
  for (Value member : members) {
    keys.erase(member);
    awaited.insert(member);
  }
  for (Value member : wait.getMembers())
    awaited.erase(member);
  CollectiveStartOp first = starts.front();
  first.getMembersMutable().assign(members);
  first->moveBefore(starts.back());
  for (CollectiveStartOp start : ArrayRef(starts).drop_front())
    start.erase();
  wait.getMembersMutable().assign(members);
  if (Value condition = first.getCondition())
    wait.getConditionMutable().assign(condition);
}

void Joiner::run() {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    // Rows are read where they are given, and belong to one member.
    auto start = dyn_cast<CollectiveStartOp>(op);
    if (start && !start.getRows()) {
      Key key = getKey(start);
      open[key].push_back(start);
      for (Value member : start.getMembers())
        keys[member] = key;
    }
    auto wait = dyn_cast<CollectiveWaitOp>(op);
    if (!wait)
      continue;
    if (awaited.erase(wait.getMembers().front()))
      wait.erase();
    else
      join(wait);
  }
}

/// Gives each collective a bucket of its own: the first one of a bucket keeps
/// it.
static void numberBuckets(func::FuncOp function) {
  int64_t next = 0;
  function.walk([&](CollectiveStartOp start) {
    next = std::max(next, int64_t(start.getBucket()) + 1);
  });
  llvm::DenseSet<int64_t> used;
  llvm::DenseMap<Value, int64_t> buckets;
  function.walk([&](Operation *op) {
    if (auto start = dyn_cast<CollectiveStartOp>(op)) {
      if (!used.insert(start.getBucket()).second)
        start.setBucket(next++);
      buckets[start.getMembers().front()] = start.getBucket();
    } else if (auto wait = dyn_cast<CollectiveWaitOp>(op)) {
      auto found = buckets.find(wait.getMembers().front());
      if (found != buckets.end())
        wait.setBucket(found->second);
    }
  });
}

/// Moves each wait right after the wait before it, if its collective has
/// started by then.
static void gatherWaits(Block &block) {
  Operation *last = nullptr;
  llvm::DenseSet<Value> since;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto start = dyn_cast<CollectiveStartOp>(op)) {
      for (Value member : start.getMembers())
        since.insert(getRoot(member));
    } else if (auto wait = dyn_cast<CollectiveWaitOp>(op)) {
      bool isNew = llvm::any_of(wait.getMembers(), [&](Value member) {
        return since.contains(getRoot(member));
      });
      if (!last || isNew)
        since.clear();
      else
        wait->moveAfter(last);
      last = wait;
    }
  }
}

void delayWaits(func::FuncOp function, bool together) {
  if (together)
    function.walk([](CollectiveStartOp op) { op.getRowsMutable().clear(); });
  SmallVector<CollectiveWaitOp> waits;
  function.walk([&](CollectiveWaitOp op) { waits.push_back(op); });
  for (CollectiveWaitOp wait : waits)
    moveToFirstUse(wait);
  function.walk([](Block *inner) { Joiner(*inner).run(); });
  // Adjacent waits are one interaction of the host with the device.
  if (together)
    gatherWaits(function.front());
  numberBuckets(function);
}

} // namespace mp
