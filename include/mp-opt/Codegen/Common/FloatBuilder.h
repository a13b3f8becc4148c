//===- FloatBuilder.h - Formulas of floats ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_FLOATBUILDER_H
#define MPOPT_CODEGEN_COMMON_FLOATBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

namespace mp {

/// Builds arithmetic on scalars and vectors of one type.
struct FloatBuilder {
  mlir::PatternRewriter &b;
  mlir::Location loc;
  mlir::Type type;

  mlir::Value constant(double number) const {
    mlir::TypedAttr value =
        b.getFloatAttr(mlir::getElementTypeOrSelf(type), number);
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
      value = mlir::DenseElementsAttr::get(vector, value);
    return mlir::arith::ConstantOp::create(b, loc, value);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) const {
    return mlir::arith::AddFOp::create(b, loc, x, y);
  }
  mlir::Value subtract(mlir::Value x, mlir::Value y) const {
    return mlir::arith::SubFOp::create(b, loc, x, y);
  }
  mlir::Value multiply(mlir::Value x, mlir::Value y) const {
    return mlir::arith::MulFOp::create(b, loc, x, y);
  }
  mlir::Value divide(mlir::Value x, mlir::Value y) const {
    return mlir::arith::DivFOp::create(b, loc, x, y);
  }
  mlir::Value negate(mlir::Value x) const {
    return mlir::arith::NegFOp::create(b, loc, x);
  }
  /// x * y + z, rounded once.
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z) const {
    return mlir::math::FmaOp::create(b, loc, x, y, z);
  }
  /// Coefficients of the highest power first.
  mlir::Value polynomial(mlir::Value x,
                         llvm::ArrayRef<double> coefficients) const {
    mlir::Value sum = constant(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = fma(sum, x, constant(coefficient));
    return sum;
  }
  mlir::Value isEqual(mlir::Value x, mlir::Value y) const {
    return mlir::arith::CmpFOp::create(b, loc, mlir::arith::CmpFPredicate::OEQ,
                                       x, y);
  }
  mlir::Value isLess(mlir::Value x, mlir::Value y) const {
    return mlir::arith::CmpFOp::create(b, loc, mlir::arith::CmpFPredicate::OLT,
                                       x, y);
  }
  mlir::Value select(mlir::Value condition, mlir::Value x,
                     mlir::Value y) const {
    return mlir::arith::SelectOp::create(b, loc, condition, x, y);
  }
  mlir::Value getSize(mlir::Value x) const {
    return mlir::math::AbsFOp::create(b, loc, x);
  }
  mlir::Value getWhole(mlir::Value x) const {
    return mlir::math::TruncOp::create(b, loc, x);
  }
  mlir::Value withSign(mlir::Value size, mlir::Value sign) const {
    return mlir::math::CopySignOp::create(b, loc, size, sign);
  }
};

/// The type with other elements.
inline mlir::Type withElement(mlir::Type type, mlir::Type element) {
  if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
    return vector.clone(element);
  return element;
}

/// A function of f32.
template <typename Op>
struct FunctionPattern : public mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;

  mlir::LogicalResult matchAndRewrite(Op op,
                                      mlir::PatternRewriter &b) const override {
    if (!mlir::getElementTypeOrSelf(op.getType()).isF32())
      return mlir::failure();
    FloatBuilder f{b, op.getLoc(), op.getType()};
    b.replaceOp(op, compute(f, op.getOperand()));
    return mlir::success();
  }
  virtual mlir::Value compute(const FloatBuilder &f, mlir::Value x) const = 0;
};

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_FLOATBUILDER_H
