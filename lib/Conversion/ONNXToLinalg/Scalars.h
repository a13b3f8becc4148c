//===- Scalars.h - Arithmetic on elements -----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layer that bodies of loops are emitted through. Elements have a type of
// their own in computations (`getComputeType`): 16-bit floats are f32, booleans
// are i1, integers of either sign are signless; `isUnsigned` is passed where
// the sign matters. Tensors hold storage types, in which a boolean takes a
// byte.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_SCALARS_H
#define MPOPT_LIB_CONVERSION_SCALARS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace mp {

/// The type in which the elements of an ONNX tensor are stored, and computed
/// with; null for strings and other types without arithmetic.
mlir::Type getStorageType(mlir::Type element);
mlir::Type getComputeType(mlir::Type element);

class Scalars {
public:
  Scalars(mlir::OpBuilder &builder, mlir::Location loc)
      : b(builder), loc(loc) {}

  mlir::OpBuilder &b;
  mlir::Location loc;

  static bool isFloat(mlir::Value value) {
    return mlir::isa<mlir::FloatType>(value.getType());
  }

  mlir::Value constant(mlir::Type type, double value);
  mlir::Value integer(mlir::Type type, int64_t value);
  mlir::Value index(int64_t value);
  mlir::Value like(mlir::Value value, double number) {
    return constant(value.getType(), number);
  }

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  /// Integers are divided towards zero. A divisor of 0, and of -1 for the least
  /// number, is replaced by 1, which does not trap.
  mlir::Value div(mlir::Value x, mlir::Value y, bool isUnsigned = false);
  /// The remainder with the sign of the dividend.
  mlir::Value rem(mlir::Value x, mlir::Value y, bool isUnsigned = false);
  mlir::Value neg(mlir::Value x);
  /// NaN if an operand is NaN.
  mlir::Value min(mlir::Value x, mlir::Value y, bool isUnsigned = false);
  mlir::Value max(mlir::Value x, mlir::Value y, bool isUnsigned = false);

  enum Order { EQ, NE, LT, LE, GT, GE };
  /// i1; floats are compared as IEEE 754 says (NE holds for NaN).
  mlir::Value compare(Order order, mlir::Value x, mlir::Value y,
                      bool isUnsigned = false);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return mlir::arith::SelectOp::create(b, loc, condition, x, y);
  }
  mlir::Value logicalNot(mlir::Value x);

  template <typename Op> mlir::Value math(mlir::Value x) {
    return Op::create(b, loc, x);
  }
  /// Handles subnormal operands and results, too.
  mlir::Value exp(mlir::Value x);
  mlir::Value log(mlir::Value x);
  mlir::Value tanh(mlir::Value x) { return math<mlir::math::TanhOp>(x); }
  mlir::Value sqrt(mlir::Value x) { return math<mlir::math::SqrtOp>(x); }
  /// 1 / (1 + exp(-x)), without overflow on the way.
  mlir::Value sigmoid(mlir::Value x);
  mlir::Value abs(mlir::Value x);

  /// Converts between compute types of the ONNX types `from` and `to`, like
  /// Cast.
  mlir::Value convert(mlir::Value x, mlir::Type from, mlir::Type to);
  /// Converts from the storage of an ONNX type to its compute type, and back.
  mlir::Value widen(mlir::Value x, mlir::Type element);
  mlir::Value narrow(mlir::Value x, mlir::Type element);

  /// `x` as an index, and an index as an integer or float of `type`.
  mlir::Value toIndex(mlir::Value x);
  mlir::Value fromIndex(mlir::Value x, mlir::Type type);

private:
  /// `convert` to a type whose elements fill bytes.
  mlir::Value convertWhole(mlir::Value x, mlir::Type from, mlir::Type to);
};

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_SCALARS_H
