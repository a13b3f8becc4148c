//===- Assignment.h - The precision of every node ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two rules decide the nodes between allow (16 bit) and deny (f32).
//
// Minimum cut: of all assignments, this rule finds the one that moves the
// fewest bytes. Each value counts 2 or 4 bytes per element, and 6 more if it is
// cast (once, for any number of users). The cost is submodular, so one maximum
// flow over the free nodes finds the minimum (Kolmogorov and Zabih 2004). Ties
// go to fp32. Besides the nodes on the lists, two kinds of nodes are fixed to
// f32: those with no allowed op nearby, and those where rounding an operand
// could do more harm than one rounding usually does, unless the operand is 16
// bit anyway.
//
// With an error limit, allowed nodes are free as well, and a second cost is the
// error that roundings cause (mp.rounding_error): the minimum cut of bytes plus
// a multiple of squared errors is found for the multiple with which the error
// stays within the limit (ErrorCut.cpp).
//
// First operand: one pass forward; promote takes the widest operand, follow the
// first. Constants and parameters do not vote; nodes that depend only on them
// are decided by one pass backward, from their users.
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
  /// A connected 16-bit region that saves less than this percentage of its
  /// bytes (after subtracting the traffic of its casts) stays f32. If absent,
  /// allowed ops are always worth their casts.
  std::optional<double> minSaving;
  /// A constant that both 16-bit and f32 nodes use is stored in both types if
  /// the 16-bit form has at most this many bytes, else cast at use.
  int64_t maxWeightCopy = 4096;
  /// Keeps the floats of QuantizeLinear and DequantizeLinear fp32, and so the
  /// products between them: for runtimes that form integer kernels from fp32
  /// pairs only.
  bool keepQuantizedF32 = false;
  /// From opset 23 on, keeps scales fp32 that 16 bit does not hold, next to
  /// 16-bit floats. Few runtimes compute that: without it, pairs with such
  /// scales stay fp32, as opsets 19 to 22 demand.
  bool ownScales = false;
  /// Lets pairs of com.microsoft be 16 bit. onnxruntime's CPU provider makes
  /// integer nodes of them without a look at their types, and refuses these.
  bool microsoftPairs = false;
  /// In fp16, keeps products fp32 whose constant biases a runtime would lose if
  /// it quantizes them with the product of both scales, as onnxruntime does.
  bool requantizedBiases = true;
  /// The root mean square error that roundings may cause, and the squared error
  /// that flips at kinks add (ErrorLimitAttr).
  std::optional<double> errorLimit;
  double kinkError = 0;
  /// Compares the minimum cut with every other assignment; for tests.
  bool proveOptimum = false;
};

/// The reason for a node's precision: a text, and the values of its
/// placeholders (#mp.precision); null if there is no reason yet.
struct DecisionReason {
  mlir::StringAttr text;
  mlir::ArrayAttr values;

  explicit operator bool() const { return bool(text); }
};

struct NodePrecision {
  enum State : uint8_t {
    /// The node has no fp32 values whose type could be chosen.
    Other,
    F32,
    Low,
  };
  mlir::Operation *node;
  OpClass opClass;
  /// True if the class comes from a built-in list, or if the operator is on no
  /// list.
  bool isBuiltin = false;
  /// True if a rule for nodes, not a list of operators, gives the class.
  bool isOverride = false;
  State state = Other;
  DecisionReason reason;
  /// The state of each type variable, for nodes with several.
  llvm::SmallVector<State, 0> variables;
};

/// The reason for a follow op that is fp32 only because its operand is.
inline constexpr llvm::StringLiteral followsF32 = "its first operand is f32";

struct Assignment {
  std::vector<NodePrecision> nodes;
  /// Bytes of all float values and casts, and if nothing were 16 bit.
  int64_t cost = 0, f32Cost = 0;
  /// The predicted error; 0 without an error limit.
  double error = 0;

  /// Assigns a precision to `nodes`: all nodes of the module's scopes
  /// (Functions.h) in order, with their classes. Fails only if a proof is
  /// requested.
  static llvm::Expected<Assignment> compute(mlir::ModuleOp module,
                                            mlir::Type lowType,
                                            std::vector<NodePrecision> nodes,
                                            const AssignmentOptions &options);
};

} // namespace mp

#endif // MPOPT_PRECISION_ASSIGNMENT_ASSIGNMENT_H
