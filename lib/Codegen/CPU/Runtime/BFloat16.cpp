//===- BFloat16.cpp - Conversions of bf16 in integers ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AVX-512's own conversion treats subnormals as zero.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/CPU/RuntimeToLLVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace mp {

static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

namespace {

struct Constants {
  OpBuilder &b;
  Location loc;
  Type type;

  Value operator()(int64_t value) const {
    TypedAttr attribute = b.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, attribute);
    return arith::ConstantOp::create(b, loc, attribute);
  }
};

struct TruncToBF16 : public OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &b) const override {
    Value x = op.getIn();
    if (!getElementTypeOrSelf(op.getType()).isBF16() ||
        !getElementTypeOrSelf(x.getType()).isF32())
      return b.notifyMatchFailure(op, "not from f32 to bf16");
    Location loc = op.getLoc();
    Type words = withElement(x.getType(), b.getI32Type());
    Type halves = withElement(x.getType(), b.getI16Type());
    Constants constant{b, loc, words};
    Value bits = arith::BitcastOp::create(b, loc, words, x);
    Value high = arith::ShRUIOp::create(b, loc, bits, constant(16));
    // Half of the last place that stays, less one where that place is even.
    Value odd = arith::AndIOp::create(b, loc, high, constant(1));
    Value half = arith::AddIOp::create(b, loc, odd, constant(0x7fff));
    Value sum = arith::AddIOp::create(b, loc, bits, half);
    Value rounded = arith::ShRUIOp::create(b, loc, sum, constant(16));
    Value quiet = arith::OrIOp::create(b, loc, high, constant(0x40));
    Value isNaN =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
    Value chosen = arith::SelectOp::create(b, loc, isNaN, quiet, rounded);
    Value narrow = arith::TruncIOp::create(b, loc, halves, chosen);
    b.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), narrow);
    return success();
  }
};

struct ExtFromBF16 : public OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &b) const override {
    Value x = op.getIn();
    if (!getElementTypeOrSelf(x.getType()).isBF16())
      return b.notifyMatchFailure(op, "not from bf16");
    Location loc = op.getLoc();
    Type words = withElement(x.getType(), b.getI32Type());
    Type halves = withElement(x.getType(), b.getI16Type());
    Type floats = withElement(x.getType(), b.getF32Type());
    Value bits = arith::BitcastOp::create(b, loc, halves, x);
    Value wide = arith::ExtUIOp::create(b, loc, words, bits);
    Value shifted =
        arith::ShLIOp::create(b, loc, wide, Constants{b, loc, words}(16));
    Value result = arith::BitcastOp::create(b, loc, floats, shifted);
    if (floats != op.getType())
      result = arith::ExtFOp::create(b, loc, op.getType(), result);
    b.replaceOp(op, result);
    return success();
  }
};

} // namespace

void populateBFloat16Patterns(RewritePatternSet &patterns) {
  patterns.add<TruncToBF16, ExtFromBF16>(patterns.getContext());
}

} // namespace mp
