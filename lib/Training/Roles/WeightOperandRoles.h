//===- WeightOperandRoles.h - Operands that take weights --------*- C++ -*-===//
//-*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_ROLES_WEIGHTOPERANDROLES_H
#define MPOPT_LIB_TRAINING_ROLES_WEIGHTOPERANDROLES_H

#include "BatchFlow.h"

namespace mp {

/// The role of an operand: whether and how it can be a weight.
enum class WeightOperandRole : uint8_t {
  /// Not learned.
  None,
  /// A mean or variance that the node updates, or has learned before.
  Statistic,
  // Roles that follow from the formal parameter's name.
  Weight,
  Bias,
  Scale,
  State,
  // Either side may be the weight.
  Product,
  Table,
  Summand,
  Factor,
  Choice,
  Part,
};

/// The role of the schema's formal parameter, or of the operator's row in the
/// table.
WeightOperandRole getWeightOperandRole(mlir::Operation *node, unsigned operand);

/// The name of the schema's formal parameter; empty if there is none.
llvm::StringRef getFormalName(mlir::Operation *node, unsigned operand);

/// True if a weight slides over its input.
bool isConvolution(mlir::Operation *node);

/// True if integers of the batch become activations: they pick rows of a table
/// of constants, or are multiplied with a weight.
bool takesIndices(mlir::Operation *node, const BatchFlow &flow);

/// True if a product of this node and operand multiplies each pair of numbers
/// once, without a sum.
bool isOuterProduct(mlir::Operation *node, unsigned operand);

/// False for an operand that only gives a type.
bool carriesElements(mlir::Operation *node, unsigned operand);

/// True if the result has its operand's elements, each changed by itself or by
/// a constant, perhaps in another order.
bool isRearranged(mlir::Operation *node);

} // namespace mp

#endif // MPOPT_LIB_TRAINING_ROLES_WEIGHTOPERANDROLES_H
