//===- ArgSelect.cpp - Steps of ArgMax and ArgMin -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace mp::kernel {

LogicalResult ArgSelectOp::verify() {
  if (getIsUnsigned() && !isa<IntegerType>(getElement().getType()))
    return emitOpError() << "expected integers that are unsigned, got "
                         << getElement().getType();
  return success();
}

Value ArgSelectOp::isBetter(OpBuilder &b, Value x, Value y) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr F floats[] = {F::OGT, F::OGE, F::OLT, F::OLE};
  static constexpr I ints[] = {I::sgt, I::sge, I::slt, I::sle};
  static constexpr I naturals[] = {I::ugt, I::uge, I::ult, I::ule};
  Location loc = getLoc();
  auto order = static_cast<unsigned>(getOrder());
  if (!isa<FloatType>(x.getType()))
    return arith::CmpIOp::create(
        b, loc, (getIsUnsigned() ? naturals : ints)[order], x, y);
  Value isBetter = arith::CmpFOp::create(b, loc, floats[order], x, y);
  Value isNaN = arith::CmpFOp::create(b, loc, F::UNE, x, x);
  // The first NaN is better than those after it.
  if (!takesLast())
    isNaN = arith::AndIOp::create(b, loc, isNaN,
                                  arith::CmpFOp::create(b, loc, F::OEQ, y, y));
  return arith::OrIOp::create(b, loc, isBetter, isNaN);
}

/// The element is selected directly after both are known, before the number is
/// computed.
static void setInsertionPoint(OpBuilder &b, ArgSelectOp op) {
  Operation *last = nullptr;
  for (Value value : {op.getElement(), op.getBest()})
    if (Operation *source = value.getDefiningOp();
        source && source->getBlock() == op->getBlock() &&
        (!last || last->isBeforeInBlock(source)))
      last = source;
  if (last)
    b.setInsertionPointAfter(last);
}

void lowerArgSelects(Operation *root) {
  root->walk([](ArgSelectOp op) {
    OpBuilder b(op);
    setInsertionPoint(b, op);
    Value isBetter = op.isBetter(b, op.getElement(), op.getBest());
    op.getSelected().replaceAllUsesWith(arith::SelectOp::create(
        b, op.getLoc(), isBetter, op.getElement(), op.getBest()));
    b.setInsertionPoint(op);
    op.getSelectedNumber().replaceAllUsesWith(arith::SelectOp::create(
        b, op.getLoc(), isBetter, op.getNumber(), op.getBestNumber()));
    op.erase();
  });
}

} // namespace mp::kernel
