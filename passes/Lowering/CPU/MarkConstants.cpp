//===- MarkConstants.cpp - Contractions of constants ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

namespace mp {
#define GEN_PASS_DEF_MARKCONSTANTS
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;

/// True if a memref's content is the same in all calls: it is memory of a
/// constant, and its type has the offset and strides.
static bool isConstant(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset) ||
      llvm::any_of(strides, ShapedType::isDynamic))
    return false;
  // Offsets and strides are those from the start of the memory for all of
  // these, unlike memref.view.
  while (Operation *op = memref.getDefiningOp()) {
    if (!isa<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
             memref::ReinterpretCastOp, memref::SubViewOp, memref::TransposeOp>(
            op))
      return isa<runtime::ConstantOp>(op);
    memref = op->getOperand(0);
  }
  return false;
}

namespace {
struct MarkConstants : public mp::impl::MarkConstantsBase<MarkConstants> {
  using MarkConstantsBase::MarkConstantsBase;

  void runOnOperation() override {
    getOperation()->walk([&](kernel::ContractOp op) {
      if (!isa<MemRefType>(op.getC().getType()))
        return;
      Value factors[] = {op.getA(), op.getB()};
      for (auto [operand, value] : llvm::enumerate(factors))
        if (isConstant(value))
          op->setAttr(kernel::constantName,
                      Builder(op).getI64IntegerAttr(operand));
    });
  }
};
} // namespace
