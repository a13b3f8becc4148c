//===- FreeEarly.cpp - Memory is freed after its last use -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces MLIR's optimize-allocation-liveness, which renumbers the ops of a
// block after each move: a quadratic cost in long models.
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mp {
#define GEN_PASS_DEF_FREEEARLY
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;

namespace {

struct FreeEarly : public mp::impl::FreeEarlyBase<FreeEarly> {
  using FreeEarlyBase::FreeEarlyBase;

  void runOnOperation() override;

private:
  Operation *findLastUser(memref::AllocOp alloc, memref::DeallocOp dealloc,
                          const BufferViewFlowAnalysis::ValueSetT &aliases);

  /// The position of each op before any op was moved.
  llvm::DenseMap<Operation *, unsigned> positions;
};

} // namespace

/// The dealloc of the memory, if there is only one and it is in the same block.
static memref::DeallocOp findDealloc(memref::AllocOp alloc) {
  memref::DeallocOp result;
  for (Operation *user : alloc->getUsers())
    if (auto dealloc = dyn_cast<memref::DeallocOp>(user)) {
      if (result || dealloc->getBlock() != alloc->getBlock())
        return nullptr;
      result = dealloc;
    }
  return result;
}

/// The last op of the block that uses the memory, or contains a user; null if
/// it is unknown.
Operation *
FreeEarly::findLastUser(memref::AllocOp alloc, memref::DeallocOp dealloc,
                        const BufferViewFlowAnalysis::ValueSetT &aliases) {
  Operation *last = nullptr;
  for (Value alias : aliases)
    for (Operation *user : alias.getUsers()) {
      if (user == dealloc)
        continue;
      Operation *own = alloc->getBlock()->findAncestorOpInBlock(*user);
      // Another dealloc is moved itself and cannot mark a position.
      if (!own || isa<memref::DeallocOp>(own))
        return nullptr;
      if (!last || positions.lookup(last) < positions.lookup(own))
        last = own;
    }
  return last;
}

void FreeEarly::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  positions.clear();
  SmallVector<memref::AllocOp> allocs;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    positions[op] = positions.size();
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      allocs.push_back(alloc);
  });
  BufferViewFlowAnalysis analysis(function);
  SmallVector<std::pair<memref::DeallocOp, Operation *>> moves;
  for (memref::AllocOp alloc : allocs)
    if (memref::DeallocOp dealloc = findDealloc(alloc))
      if (Operation *last =
              findLastUser(alloc, dealloc, analysis.resolve(alloc)))
        moves.emplace_back(dealloc, last);
  for (auto [dealloc, last] : moves)
    dealloc->moveAfter(last);
}
