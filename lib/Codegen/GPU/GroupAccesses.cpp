//===- GroupAccesses.cpp - Which memory groups touch ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupAccesses.h"

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace mp {

/// Views and ops that touch only what other ops inside of them touch.
static bool isTransparent(Operation *op) {
  return op->getNumRegions() > 0 && !isa<linalg::LinalgOp>(op) &&
         !isa<kernel::ContractOp>(op);
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
      // The operands of a structured op are told apart: one may be read and
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

scf::IfOp findGuard(Block &body) {
  scf::IfOp guard;
  for (Operation &op : body) {
    if (op.hasTrait<OpTrait::IsTerminator>() || op.getNumRegions() == 0)
      continue;
    if (guard || !isa<scf::IfOp>(op))
      return nullptr;
    guard = cast<scf::IfOp>(op);
  }
  if (!guard || guard.getNumResults() > 0 || guard.elseBlock() ||
      !llvm::hasNItems(*guard.thenBlock(), 2))
    return nullptr;
  return guard;
}

Value getFilling(linalg::GenericOp op) {
  if (op.getNumReductionLoops() != 0 || op.getNumDpsInits() != 1 ||
      !op.getIndexingMapsArray().back().isPermutation())
    return nullptr;
  Block &block = op.getRegion().front();
  if (!llvm::hasSingleElement(block))
    return nullptr;
  Value value = block.getTerminator()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &block)
    return value;
  Value operand = op.getMatchingOpOperand(argument)->get();
  return isa<MemRefType>(operand.getType()) ? nullptr : operand;
}

bool areInConflict(ArrayRef<Access> first, ArrayRef<Access> second) {
  for (const Access &one : first)
    for (const Access &other : second)
      if ((one.isWrite || other.isWrite) && one.range.overlaps(other.range))
        return true;
  return false;
}

} // namespace mp
