//===- RangeAnalysis.h - Intervals of values --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes intervals of constants, and of values that are computed from them by
// operators whose definition bounds their result. Intervals are computed in
// double, on demand, once per value. Everything else is unknown: graph inputs,
// loop-carried values, and results of operators without a rule.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_RANGEANALYSIS_H
#define MPOPT_PRECISION_ANALYSIS_RANGEANALYSIS_H

#include "mp-opt/Precision/Analysis/Constants.h"

#include <cmath>

namespace mp {

/// Facts about all elements of a value that are not NaN.
struct Interval {
  /// Bounds of all elements; infinite if an element may be.
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  /// Some element is certainly at most `minAtMost`, and some is at least
  /// `maxAtLeast`.
  double minAtMost = std::numeric_limits<double>::infinity();
  double maxAtLeast = -std::numeric_limits<double>::infinity();
  /// True if every element is an integer.
  bool isInteger = false;

  /// Makes bounds that are not known to be reached.
  static Interval within(double lo, double hi, bool isInteger = false);
  /// Makes bounds that are reached.
  static Interval exactly(double lo, double hi, bool isInteger = false);

  bool isBounded() const { return std::isfinite(lo) && std::isfinite(hi); }
  bool isUnknown() const { return std::isinf(lo) && std::isinf(hi); }
  bool isWithin(double from, double to) const { return lo >= from && hi <= to; }
  double getMaxMagnitude() const {
    return std::max(std::fabs(lo), std::fabs(hi));
  }
  /// The greatest magnitude that some element certainly has; 0 if none.
  double getReached() const;
  /// The range of the elements of both intervals.
  Interval join(const Interval &other) const;
  /// The same bounds, not known to be reached.
  Interval withoutWitness() const { return within(lo, hi, isInteger); }
};

class RangeAnalysis;

/// The ranges of a node's operands, on demand. If the range of an operand is
/// not computed yet, it counts as unknown, and the rule is called again later.
/// A rule that does not ask for a large weight avoids reading it.
class OperandRanges {
public:
  OperandRanges(mlir::Operation *op, unsigned result, RangeAnalysis &analysis,
                llvm::SmallVectorImpl<mlir::Value> &missing)
      : op(op), result(result), analysis(analysis), missing(missing) {}

  Interval operator()(unsigned index) const {
    return of(op->getOperand(index));
  }
  Interval of(mlir::Value value) const;
  /// True if the operand is there and not `onnx.absent`.
  bool has(unsigned index) const;

  mlir::Operation *const op;
  const unsigned result;

private:
  RangeAnalysis &analysis;
  llvm::SmallVectorImpl<mlir::Value> &missing;
};

using RangeRule = Interval (*)(const OperandRanges &in);

/// The rule of a standard operator; null if there is none.
RangeRule getRangeRule(llvm::StringRef opType);

/// The range that a value's type implies.
Interval getRangeOfType(mlir::Type type);

class RangeAnalysis {
public:
  explicit RangeAnalysis(ConstantRange &constants) : constants(constants) {}

  /// The range of `value`, after clamping if it is a clamped constant.
  const Interval &get(mlir::Value value);
  ConstantRange &getConstants() { return constants; }

private:
  friend class OperandRanges;
  Interval compute(mlir::Value value,
                   llvm::SmallVectorImpl<mlir::Value> &missing);
  Interval getConstant(mlir::Operation *constant);

  ConstantRange &constants;
  llvm::DenseMap<mlir::Value, Interval> known;
  llvm::DenseMap<const void *, RangeRule> rules;
};

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_RANGEANALYSIS_H
