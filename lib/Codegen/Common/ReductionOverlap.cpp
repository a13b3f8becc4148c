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

/// Whether `op`, or an op in it, has a view of `memory`.
static bool touches(Operation *op, Value memory) {
  return op
      ->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (isa<BaseMemRefType>(operand.getType()) &&
              getRoot(operand) == memory)
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// Views alone touch nothing.
static bool isView(Operation *op) {
  return op->getNumRegions() == 0 && isMemoryEffectFree(op);
}

void delayWaits(func::FuncOp function) {
  SmallVector<runtime::ReduceWaitOp> waits;
  function.walk([&](runtime::ReduceWaitOp op) { waits.push_back(op); });
  for (runtime::ReduceWaitOp wait : waits) {
    Value memory = getRoot(wait.getMemory());
    Operation *next = wait->getNextNode();
    while (!next->hasTrait<OpTrait::IsTerminator>() &&
           (isView(next) || !touches(next, memory)))
      next = next->getNextNode();
    wait->moveBefore(next);
  }
}

} // namespace mp
