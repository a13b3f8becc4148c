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

/// The part that looks for overflow, node by node in order: a node's result or
/// operand that certainly leaves the range, and values made of constants that
/// do.
class OverflowFinder {
public:
  OverflowFinder(mlir::Operation *scope, RangeAnalysis &ranges, ElementKind low,
                 Hazards &hazards);
  void visit(mlir::Operation *node);

private:
  /// How much of a value beyond the range is in another.
  enum class Trace : uint8_t { None, Scaled, Contained };
  struct Origin {
    Trace trace = Trace::None;
    /// The value beyond the range, and how far it goes.
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

/// The part that looks for guards: the epsilon in x / (y + epsilon), the
/// bounds in log(clip(p, epsilon, 1 - epsilon)). A guard must keep its
/// precision up to the node that it guards, so nothing in between may be 16
/// bit where the guard is no normal number of that type.
class GuardFinder {
public:
  GuardFinder(RangeAnalysis &ranges, ElementKind low, Hazards &hazards)
      : ranges(ranges), limits(low), hazards(hazards) {}
  void visit(mlir::Operation *node);

private:
  /// A node on the way from a guard to what it guards.
  struct Link {
    mlir::Operation *node;
    /// In 16 bit the node would lose the guard.
    bool losesGuard;
    bool isNeeded = false;
    mlir::Value guard;
    double number;
    llvm::SmallVector<unsigned, 2> from = {};
  };
  /// What keeps a value off zero, or (as a gap) off one, and the last link of
  /// the way to it.
  struct Guard {
    double least = 0, gap = 0;
    unsigned link = 0, gapLink = 0;
  };

  double getTiny(mlir::Value value);
  bool isTiny(double least) const { return least && least < limits.minNormal; }
  void startLeast(mlir::Operation *node, mlir::Value guard, mlir::Value other);
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
  /// What inverses of guards reach, where that is beyond the range.
  llvm::DenseMap<mlir::Value, std::pair<double, unsigned>> peaks;
};

} // namespace mp

#endif // MPOPT_LIB_PRECISION_ANALYSIS_HAZARDFINDERS_H
