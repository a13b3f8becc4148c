//===- OpKinds.h - What analyses tell apart about operators -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of operators for the safety analyses, looked up once per operator,
// and the small constants that steer them: exponents, axes, counts.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_OPKINDS_H
#define MPOPT_LIB_PRECISION_OPKINDS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "llvm/ADT/DenseMap.h"

namespace mp {

/// How an op's result hangs on its first operand.
enum class OpShape : uint8_t {
  Other,
  /// Each element from the elements at its place in the (broadcast) operands.
  Elementwise,
  /// The same elements in another arrangement.
  Movement,
  /// Fewer elements, each from many.
  Reduction,
};

/// What an op computes, as far as an analysis asks.
enum class OpMath : uint8_t {
  Other,
  Abs,
  Add,
  Div,
  Exp,
  Log,
  LogSoftmax,
  Mul,
  Neg,
  Pow,
  Reciprocal,
  Softmax,
  Sqrt,
  Sub,
  // Reductions: a power, an exponential or a logarithm may be built in.
  Max,
  Mean,
  Sum,
  SumAbs,
  SumSquare,
  RootSumSquare,
  LogSum,
  LogSumExp,
};

struct OpKind {
  OpShape shape = OpShape::Other;
  OpMath math = OpMath::Other;
};

/// The kinds of the operators of one context.
class OpKinds {
public:
  OpKind lookup(mlir::Operation *op);

private:
  llvm::DenseMap<const void *, OpKind> known;
};

/// The number that all elements of a small constant have; absent if `value`
/// is none, or not that small. Sees through casts and rearrangements.
std::optional<double> getUniformConstant(mlir::Value value);

/// The elements of a small integer constant.
std::optional<llvm::SmallVector<int64_t>> getIntegerConstant(mlir::Value value);

/// The axes that a reduction reduces, not negative and in order, as far as the
/// model tells. All axes of the operand if the op names none.
std::optional<llvm::SmallVector<int64_t>>
getReducedAxes(mlir::Operation *reduction);

} // namespace mp

#endif // MPOPT_LIB_PRECISION_OPKINDS_H
