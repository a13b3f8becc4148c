//===- GroupForms.cpp - Patterns in groups --------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupForms.h"

#include "mp-opt/Dialect/Kernel/Kernel.h"

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

Operation *findWork(Block &body) {
  Block &block = [&]() -> Block & {
    scf::IfOp guard = findGuard(body);
    return guard ? *guard.thenBlock() : body;
  }();
  Operation *work = nullptr;
  for (Operation &op : block)
    if (isa<linalg::GenericOp, kernel::ContractOp, kernel::AttentionOp,
            kernel::AttentionGradientOp, scf::ForallOp, scf::ForOp>(op))
      work = &op;
  return work;
}

std::optional<RowRange> RowRange::get(scf::ForallOp forall) {
  RowRange range;
  for (auto [lower, upper, step] :
       llvm::zip(forall.getMixedLowerBound(), forall.getMixedUpperBound(),
                 forall.getMixedStep())) {
    auto first = getConstantIntValue(lower), end = getConstantIntValue(upper),
         by = getConstantIntValue(step);
    if (!first || !end || !by)
      return std::nullopt;
    range.lowers.push_back(*first);
    range.steps.push_back(*by);
    range.counts.push_back(
        std::max<int64_t>(0, llvm::divideCeil(*end - *first, *by)));
    range.count *= range.counts.back();
  }
  return range;
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
