//===- RangeAnalysis.h - Between which numbers a value lies -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Intervals of constants, and of what flows from them through operators whose
// meaning bounds their result. Computed in double, on demand, each value once.
// What is not known stays unknown: graph inputs, what a loop carries, results
// of operators without a rule.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_RANGEANALYSIS_H
#define MPOPT_PRECISION_ANALYSIS_RANGEANALYSIS_H

#include "mp-opt/Precision/Analysis/Constants.h"

#include <cmath>

namespace mp {

/// What is known of all elements of a value that are not NaN.
struct Interval {
  /// No element is less or greater; infinite where an element may be so.
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  /// For certain some element is at most, some is at least this.
  double minAtMost = std::numeric_limits<double>::infinity();
  double maxAtLeast = -std::numeric_limits<double>::infinity();
  /// Every element is an integer.
  bool isInteger = false;

  /// Bounds that are not known to be reached.
  static Interval within(double lo, double hi, bool isInteger = false);
  /// Bounds that are reached.
  static Interval exactly(double lo, double hi, bool isInteger = false);

  bool isBounded() const { return std::isfinite(lo) && std::isfinite(hi); }
  bool isUnknown() const { return std::isinf(lo) && std::isinf(hi); }
  bool isWithin(double from, double to) const { return lo >= from && hi <= to; }
  double getMaxMagnitude() const {
    return std::max(std::fabs(lo), std::fabs(hi));
  }
  /// The greatest magnitude that an element has for certain; 0 if none.
  double getReached() const;
  /// The range of the elements of both.
  Interval join(const Interval &other) const;
  /// The same without what is known to be reached.
  Interval withoutWitness() const { return within(lo, hi, isInteger); }
};

class RangeAnalysis;

/// The ranges of a node's operands, as a rule asks for them. An operand whose
/// range is still to be computed counts as unknown, and the rule is asked
/// again later; so a rule that needs not ask for a big weight spares reading
/// it.
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

/// What a value's type says of it.
Interval getRangeOfType(mlir::Type type);

class RangeAnalysis {
public:
  explicit RangeAnalysis(ConstantRange &constants) : constants(constants) {}

  /// The range of `value`; that of a clamped constant is the clamped one.
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
