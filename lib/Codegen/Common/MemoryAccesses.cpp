//===- MemoryAccesses.cpp - Which memory ops touch ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/MemoryAccesses.h"

#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace mp {

/// True for views, and for ops that touch only memory that ops inside of them
/// touch.
static bool isTransparent(Operation *op) {
  return op->getNumRegions() > 0 && !isa<linalg::LinalgOp>(op) &&
         !isa<kernel::ContractOp, kernel::AttentionOp,
              kernel::AttentionGradientOp>(op);
}

SmallVector<Access> findAccesses(Operation *root) {
  SmallVector<Access> accesses;
  auto add = [&](OpOperand &operand, bool isWrite) {
    Value memory = getRoot(operand.get());
    Operation *source = memory.getDefiningOp();
    if (isa_and_nonnull<device::ControlOp>(source) ||
        (source && root->isProperAncestor(source)))
      return;
    accesses.push_back({&operand, MemoryRange::get(operand.get()), isWrite});
  };
  root->walk([&](Operation *op) {
    if (isTransparent(op) || isMemoryEffectFree(op))
      return;
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects)
      return;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()))
        continue;
      SmallVector<MemoryEffects::EffectInstance> list;
      effects.getEffectsOnValue(operand.get(), list);
      bool writes = false, reads = false;
      for (const MemoryEffects::EffectInstance &effect : list) {
        writes |= isa<MemoryEffects::Write>(effect.getEffect());
        reads |= isa<MemoryEffects::Read>(effect.getEffect());
      }
      // The operands of a structured op are distinguished: one may be read and
      // another, of the same memory, written.
      if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
        writes = structured.isDpsInit(&operand);
        reads = true;
      }
      if (writes)
        add(operand, true);
      if (reads)
        add(operand, false);
    }
  });
  return accesses;
}

bool areInConflict(ArrayRef<Access> first, ArrayRef<Access> second) {
  for (const Access &one : first)
    for (const Access &other : second)
      if ((one.isWrite || other.isWrite) && one.range.overlaps(other.range))
        return true;
  return false;
}

} // namespace mp
