//===- GroupForms.cpp - Patterns in groups --------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupForms.h"

using namespace mlir;

namespace mp {

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

} // namespace mp
