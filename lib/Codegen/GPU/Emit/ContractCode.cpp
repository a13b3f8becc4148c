//===- ContractCode.cpp - Contractions as plain loops ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContractCode.h"

#include "mp-opt/Dialect/Kernel/ContractShape.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mp {

namespace {

class ContractLoops {
public:
  ContractLoops(RewriterBase &b, kernel::ContractOp op)
      : b(b), loc(op.getLoc()), op(op), maps(op.getMaps()),
        sizes(kernel::getStaticSizes(op)), indices(sizes.size()) {
    AffineMap stored = maps.back();
    for (AffineExpr expr : stored.getResults())
      for (unsigned dim = 0; dim < sizes.size(); ++dim)
        if (expr.isFunctionOfDim(dim))
          outer.push_back(dim);
    for (unsigned dim = 0; dim < sizes.size(); ++dim)
      if (!llvm::is_contained(outer, dim))
        reduced.push_back(dim);
  }

  int64_t countOutputs() const {
    int64_t count = 1;
    for (unsigned dim : outer)
      count *= sizes[dim];
    return count;
  }
  void emit(const Threads &threads);

private:
  SmallVector<Value> getPlace(unsigned operand);
  Value loadFactor(unsigned operand);
  Value sumUp(ArrayRef<unsigned> dims, Value sum);
  void finish(Value sum);

  RewriterBase &b;
  Location loc;
  kernel::ContractOp op;
  SmallVector<AffineMap> maps;
  SmallVector<int64_t> sizes;
  SmallVector<Value> indices;
  SmallVector<unsigned> outer, reduced;
};

} // namespace

SmallVector<Value> ContractLoops::getPlace(unsigned operand) {
  SmallVector<Value> place;
  for (AffineExpr expr : maps[operand].getResults())
    place.push_back(affine::expandAffineExpr(b, loc, expr, indices, {}));
  return place;
}

/// Loads an element of a or b, converted to the type of factors; zero out of
/// bounds.
Value ContractLoops::loadFactor(unsigned operand) {
  Value memref = op->getOperand(operand);
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> place = getPlace(operand);
  Value valid;
  for (auto [axis, expr] : llvm::enumerate(maps[operand].getResults())) {
    if (kernel::isInBounds(*kernel::getLinearForm(expr, sizes.size()), sizes,
                           type.getDimSize(axis)))
      continue;
    Value fits =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, place[axis],
                              makeIndex(b, loc, type.getDimSize(axis)));
    place[axis] = arith::SelectOp::create(b, loc, fits, place[axis],
                                          makeIndex(b, loc, 0));
    valid =
        valid ? arith::AndIOp::create(b, loc, valid, fits).getResult() : fits;
  }
  Value value = memref::LoadOp::create(b, loc, memref, place);
  if (Type rounding = op.getRounding(operand))
    value = arith::TruncFOp::create(b, loc, rounding, value);
  Type wide = op.getAccumulatorType();
  if (value.getType() != wide)
    value = arith::ExtFOp::create(b, loc, wide, value);
  if (!valid)
    return value;
  Value zero =
      arith::ConstantOp::create(b, loc, b.getFloatAttr(wide, 0)).getResult();
  return arith::SelectOp::create(b, loc, valid, value, zero);
}

Value ContractLoops::sumUp(ArrayRef<unsigned> dims, Value sum) {
  if (dims.empty()) {
    Value x = loadFactor(0), y = loadFactor(1);
    Value product =
        arith::MulFOp::create(b, loc, x, y, arith::FastMathFlags::contract);
    return arith::AddFOp::create(b, loc, sum, product,
                                 arith::FastMathFlags::contract);
  }
  return emitSequence(b, loc, sizes[dims.front()], sum,
                      [&](Value i, ArrayRef<Value> sums) {
                        indices[dims.front()] = i;
                        Value next = sumUp(dims.drop_front(), sums.front());
                        return SmallVector<Value>{next};
                      })
      .front();
}

void ContractLoops::finish(Value sum) {
  Block &epilogue = op.getEpilogue().front();
  IRMapping mapping;
  mapping.map(epilogue.getArgument(0), sum);
  for (auto [number, extra] : llvm::enumerate(op.getExtras()))
    mapping.map(epilogue.getArgument(number + 1),
                memref::LoadOp::create(b, loc, extra, getPlace(number + 2)));
  for (Operation &inner : epilogue.without_terminator())
    b.clone(inner, mapping);
  Value result =
      mapping.lookupOrDefault(epilogue.getTerminator()->getOperand(0));
  memref::StoreOp::create(b, loc, result, op.getC(), getPlace(maps.size() - 1));
}

void ContractLoops::emit(const Threads &threads) {
  threads.forEach(b, loc, countOutputs(), [&](Value linear) {
    SmallVector<int64_t> extents;
    for (unsigned dim : outer)
      extents.push_back(sizes[dim]);
    SmallVector<Value> found = delinearize(b, loc, linear, extents);
    for (auto [dim, index] : llvm::zip(outer, found))
      indices[dim] = index;
    Type type = op.getAccumulatorType();
    Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(type, 0));
    finish(sumUp(reduced, zero));
  });
}

int64_t countResults(kernel::ContractOp op) {
  IRRewriter rewriter(op.getContext());
  return ContractLoops(rewriter, op).countOutputs();
}

void emitContractLoops(RewriterBase &b, kernel::ContractOp op,
                       const Threads &threads) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  ContractLoops(b, op).emit(threads);
}

void emitContractTiles(RewriterBase &b,
                       ArrayRef<kernel::ContractOp> identical) {
  OpBuilder::InsertionGuard guard(b);
  kernel::ContractOp first = identical.front();
  Location loc = first.getLoc();
  int64_t tiles = kernel::getContractLaunch(first).grid[0];
  b.setInsertionPoint(first);
  Value tile = getBlock(b, loc);
  SmallVector<Value> operands = first.getMappedOperands();
  // Select the last contraction whose tiles begin at this block or before it.
  Value begin = makeIndex(b, loc, 0);
  for (auto [number, other] : llvm::enumerate(identical.drop_front())) {
    kernel::ContractOp op = other;
    Value next = makeIndex(b, loc, int64_t(number + 1) * tiles);
    Value isBehind =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, tile, next);
    auto choose = [&](Value yes, Value no) {
      return arith::SelectOp::create(b, loc, isBehind, yes, no).getResult();
    };
    begin = choose(next, begin);
    for (auto [own, value] : llvm::zip(operands, op.getMappedOperands()))
      own = choose(value, own);
  }
  if (identical.size() > 1)
    tile = arith::SubIOp::create(b, loc, tile, begin);
  kernel::emitContract(b, first, operands, tile);
  for (kernel::ContractOp op : identical)
    b.eraseOp(op);
}

} // namespace mp
