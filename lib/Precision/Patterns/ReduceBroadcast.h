//===- ReduceBroadcast.h - Reductions broadcast back onto x -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes a reduction of a pointwise function of x, the values computed from
// the reduced value alone, and the places where these are broadcast back onto x
// (mean, variance, maximum). Decomposed normalizations and softmaxes consist
// only of these. Walks are bounded: no decomposition is longer, and the time
// stays linear.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_PATTERNS_REDUCEBROADCAST_H
#define MPOPT_LIB_PRECISION_PATTERNS_REDUCEBROADCAST_H

#include "../Analysis/SmallConstants.h"
#include "mp-opt/Operators/OperatorTraits.h"

#include <memory>
#include <optional>

namespace mp {

/// True for operators that the search follows before and after a reduction:
/// elementwise ops, data movement and reductions.
bool isFollowed(const OperatorTraits &traits);

/// The number of reductions on the way to a value; a value with fewer is closer
/// to the data. Constants and parameters, and values made of them alone, are
/// `constantLevel`.
class ReductionLevels {
public:
  static constexpr unsigned constantLevel = ~0u;

  ReductionLevels(mlir::Operation *scope, OperatorTraitsCache &kinds);

  unsigned lookup(mlir::Value value) const;
  /// The operand that makes `op` a function of one value, apart from constants
  /// and reduced values; null if there are two.
  mlir::Value getMainOperand(mlir::Operation *op) const;
  /// The nodes of the graph and its subgraphs, in order.
  llvm::ArrayRef<mlir::Operation *> getNodes() const { return nodes; }

private:
  std::vector<mlir::Operation *> nodes;
  llvm::DenseMap<mlir::Value, unsigned> levels;
};

/// The functions that have been applied to a reduced value.
struct ReducedForm {
  bool hasLog = false, hasSqrt = false, isInverse = false, isNegative = false;
};

struct ReduceBroadcast {
  /// A node that reads the reduced value alone; its operand is the result of
  /// `parent`, another step or, below zero, the reduction.
  struct Step {
    mlir::Operation *node;
    int parent;
    ReducedForm form;
  };
  /// A node where the reduced value meets x, or something made of x.
  struct Broadcast {
    mlir::Operation *node;
    int parent;
    /// `kernel[root]` is the value that both sides are made of.
    unsigned root;
    ReducedForm form;
    /// From `node`'s other operand back to the root.
    llvm::SmallVector<mlir::Operation *, 2> path;
  };

  mlir::Operation *reduction;
  OperatorMath math;
  /// The reduced value, the value it is made of, and so on backward.
  llvm::SmallVector<mlir::Value, 8> kernel;
  llvm::SmallVector<Step, 8> steps;
  llvm::SmallVector<Broadcast, 2> broadcasts;
};

class ReduceBroadcastFinder {
public:
  ReduceBroadcastFinder(const ReductionLevels &levels,
                        OperatorTraitsCache &kinds)
      : levels(levels), kinds(kinds) {}

  ReduceBroadcast find(mlir::Operation *reduction);

  /// `value` and the values that it is a pointwise function of.
  llvm::SmallVector<mlir::Value, 8> walkBack(mlir::Value value,
                                             bool throughReductions) const;

private:
  enum class Side { Reduced, Foreign, Data };
  /// The facts about a node of many operands that are needed for each of them.
  struct WideUser {
    /// The levels of the operands, ascending, without those of constants.
    std::vector<unsigned> levels;
    /// The operands that are made of a value.
    llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 1>> madeOf;
  };
  const WideUser &getWideUser(mlir::Operation *user);
  /// The operands of a node that may be on another side than `value`, which is
  /// on that of the reduced value; absent if one is foreign to it.
  std::optional<llvm::SmallVector<mlir::Value>>
  getOthers(const ReduceBroadcast &pattern, mlir::Operation *user,
            mlir::Value value);
  void visitUser(ReduceBroadcast &pattern, mlir::Operation *user,
                 mlir::Value value, int parent);
  Side classify(ReduceBroadcast &pattern, mlir::Value other,
                ReduceBroadcast::Broadcast &broadcast) const;
  ReducedForm extend(ReducedForm form, mlir::Operation *user,
                     mlir::Value value);

  const ReductionLevels &levels;
  OperatorTraitsCache &kinds;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<WideUser>> wideUsers;
};

} // namespace mp

#endif // MPOPT_LIB_PRECISION_PATTERNS_REDUCEBROADCAST_H
