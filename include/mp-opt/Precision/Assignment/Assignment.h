//===- Assignment.h - The precision of every node ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two rules decide the nodes between allow (16 bit) and deny (f32).
//
// Minimum cut: of all assignments the one that moves the fewest bytes, each
// value counted with 2 or 4 bytes an element, and with 6 more where it is cast
// (once, however many want it). The cost is submodular, so that one maximum
// flow over the free nodes finds it (Kolmogorov and Zabih 2004). Ties go to
// fp32. Held fixed beside the lists: f32 where no allowed op is near; f32 where
// rounding an operand could do more harm than a rounding does, unless the
// operand is 16 bit anyway.
//
// First operand: one pass forward; promote takes the widest operand, follow
// the first. Constants and parameters do not vote; what only depends on them
// is decided by one pass backward, from its users.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ASSIGNMENT_ASSIGNMENT_H
#define MPOPT_PRECISION_ASSIGNMENT_ASSIGNMENT_H

#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Precision/Policy/Policy.h"

#include <string>

namespace mp {

enum class AssignmentRule { MinimumCut, FirstOperand };

struct AssignmentOptions {
  AssignmentRule rule = AssignmentRule::MinimumCut;
  /// Sizes of symbolic dimensions.
  DimensionSizes dimensions;
  /// A connected 16-bit region that saves less than this part of its bytes
  /// (percent, after what its casts move) stays f32; absent: allowed ops are
  /// worth their casts.
  std::optional<double> minSaving;
  /// A constant that both 16-bit and f32 nodes use is stored in both types if
  /// the 16-bit form has at most this many bytes, else cast at use.
  int64_t maxWeightCopy = 4096;
  /// Compare the minimum cut with every other assignment; for tests.
  bool proveOptimum = false;
};

/// Why a node has its precision: a text, and the values of the places in it
/// (#mp.precision); null if there is no reason yet.
struct DecisionReason {
  mlir::StringAttr text;
  mlir::ArrayAttr values;

  explicit operator bool() const { return bool(text); }
};

struct NodePrecision {
  enum State : uint8_t {
    /// No fp32 values whose type could be chosen: left alone.
    Other,
    F32,
    Low,
  };
  mlir::Operation *node;
  OpClass opClass;
  /// The class comes from a built-in list, or from none.
  bool isBuiltin = false;
  /// A rule for nodes, not a list of operators, gives the class.
  bool isOverride = false;
  State state = Other;
  DecisionReason reason;
  /// Of nodes with several type slots, the state of each.
  llvm::SmallVector<State, 0> slots;
};

/// The reason of a follow op that is fp32 only because its operand is.
inline constexpr llvm::StringLiteral followsF32 = "its first operand is f32";

struct Assignment {
  std::vector<NodePrecision> nodes;
  /// Bytes of all float values and casts.
  int64_t cost = 0;

  /// `nodes` are all nodes of the module's scopes (Functions.h) in order, with
  /// their classes. Fails only where a proof is asked for.
  static llvm::Expected<Assignment> compute(mlir::ModuleOp module,
                                            mlir::Type lowType,
                                            std::vector<NodePrecision> nodes,
                                            const AssignmentOptions &options);
};

} // namespace mp

#endif // MPOPT_PRECISION_ASSIGNMENT_ASSIGNMENT_H
