//===- HazardFinders.h - The two searches for hazards -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_ANALYSIS_HAZARDFINDERS_H
#define MPOPT_LIB_PRECISION_ANALYSIS_HAZARDFINDERS_H

#include "Carry.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/HazardAnalysis.h"

namespace mp {

/// Finds overflow, node by node in order: a node's result or operand that
/// certainly leaves the range, and values made of constants that do.
class OverflowFinder {
public:
  OverflowFinder(mlir::Operation *scope, RangeAnalysis &ranges, ElementKind low,
                 Hazards &hazards);
  void visit(mlir::Operation *node);

private:
  /// The share of an out-of-range value that another value contains.
  enum class Trace : uint8_t { None, Scaled, Contained };
  struct Origin {
    Trace trace = Trace::None;
    /// The value beyond the range, and the greatest number it reaches.
    mlir::Value source = {};
    double number = 0;
  };

  Carry lookupCarry(mlir::Operation *node);
  Origin getOrigin(mlir::Value value, Carry carry, unsigned index);
  void visitOperand(mlir::Operation *node, Carry carry, unsigned index);
  Origin findOrigin(mlir::Operation *node, Carry carry);
  void visitResults(mlir::Operation *node, Carry carry);
  bool isRead16Bit(mlir::Operation *node, unsigned index);

  RangeAnalysis &ranges;
  const LowLimits limits;
  Hazards &hazards;
  SchemaCache schemas;
  llvm::DenseMap<const void *, Carry> carries;
  llvm::DenseMap<mlir::Value, Origin> origins;
  llvm::DenseMap<mlir::Value, double> overflowing;
};

/// Finds guards: the epsilon in x / (y + epsilon), the bounds in log(clip(p,
/// epsilon, 1 - epsilon)). A guard must keep its precision up to the node that
/// it guards, so no node in between may be 16 bit if the guard is not a normal
/// number of that type.
class GuardFinder {
public:
  GuardFinder(RangeAnalysis &ranges, ElementKind low, Hazards &hazards)
      : ranges(ranges), limits(low), hazards(hazards) {}
  void visit(mlir::Operation *node);

private:
  /// A node between a guard and the node that it guards.
  struct Link {
    mlir::Operation *node;
    /// True if the node would lose the guard in 16 bit.
    bool losesGuard;
    bool isNeeded = false;
    mlir::Value guard;
    double number;
    llvm::SmallVector<unsigned, 2> from = {};
  };
  /// The distance that a value keeps from zero (least) or from one (gap), and
  /// the last links of the paths to these guards.
  struct Guard {
    double least = 0, gap = 0;
    unsigned link = 0, gapLink = 0;
  };

  double getTiny(mlir::Value value);
  bool isTiny(double least) const { return least && least < limits.minNormal; }
  void startTiny(mlir::Operation *node, mlir::Value guard, mlir::Value other);
  void startGap(mlir::Operation *node, mlir::Value bound);
  void startAttributes(mlir::Operation *node);
  void begin(mlir::Operation *node, mlir::Value guard, double least,
             double gap);
  void start(mlir::Operation *node, OperatorMath math);
  void follow(mlir::Operation *node, OperatorMath math);
  void move(mlir::Operation *node, mlir::Value from);
  void multiply(mlir::Operation *node);
  void subtractFromOne(mlir::Operation *node);
  void takePower(mlir::Operation *node);
  void takeRoot(mlir::Operation *node, double power);
  void invert(mlir::Operation *node, unsigned operand, double power);
  void need(unsigned link, mlir::Operation *guarded);
  void readPeaks(mlir::Operation *node);
  unsigned addLink(mlir::Operation *node, bool losesGuard,
                   llvm::ArrayRef<unsigned> from);

  RangeAnalysis &ranges;
  const LowLimits limits;
  Hazards &hazards;
  OperatorTraitsCache kinds;
  std::vector<Link> links;
  llvm::DenseMap<mlir::Value, Guard> guards;
  /// The magnitudes that inverses of guards reach, if out of range.
  llvm::DenseMap<mlir::Value, std::pair<double, unsigned>> peaks;
};

} // namespace mp

#endif // MPOPT_LIB_PRECISION_ANALYSIS_HAZARDFINDERS_H
