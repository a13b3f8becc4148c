//===- ParameterRoles.h - Roles of constants --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An exported model does not say which of its constants were trained. Their use
// does: each constant is followed through values computed of constants alone
// (casts, transposes, a normalized weight) to the nodes where it meets a value
// that depends on the batch. Its role follows from its position there. Three
// sources decide:
//
//   the schema     the role of a formal parameter: a weight, a bias, a scale,
//                  a running statistic, or an operand that is not learned
//   the dataflow   the other operand (an activation, the model's raw input,
//                  positions) and the result's use (sines of frequencies)
//   the elements   computed tables: sampled sines, masks, grids
//
// If none of these decides (a single number, a tensor of equal elements), the
// name does, and the answer is marked as doubtful.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_PARAMETERROLES_H
#define MPOPT_TRAINING_PARAMETERROLES_H

#include "mp-opt/Dialect/ONNX/GraphEditor.h"

namespace mp {

enum class ParameterRole : uint8_t {
  None,
  Weight,
  Bias,
  Scale,
  Embedding,
  Position,
  Token,
  State,
};

/// "weight", "bias", ...; "none".
llvm::StringRef getName(ParameterRole role);

/// A place where a constant, or a value computed from it, meets the batch.
struct ParameterUse {
  mlir::Operation *node = nullptr;
  ParameterRole role = ParameterRole::None;
  /// The reason for the role None, e.g. "sampled sines and cosines".
  std::string reason;
  /// True if the role may be wrong and the user should check it.
  bool isDoubtful = false;
  /// True if no gradient passes between it and the loss.
  bool isStopped = false;
  /// The use of the constant itself from which this place is reached.
  mlir::OpOperand *origin = nullptr;
};

/// A float initializer or Constant of the main graph and its subgraphs.
struct ParameterCandidate {
  mlir::Operation *constant = nullptr;
  /// The value that nodes use: the constant's result, or the graph input whose
  /// default it is.
  mlir::Value value;
  llvm::StringRef name;
  /// The uses that the loss depends on, in the order of the graph.
  std::vector<ParameterUse> uses;
  /// True if all elements are the same number.
  bool isUniform = false;

  /// False if no gradient of the loss could reach it.
  bool isReached() const;
  /// The first use with a role; null if none has one.
  const ParameterUse *getRole() const;
  /// The reason why it has no role.
  std::string getReason() const;
};

/// All candidates, in the order of the graph.
std::vector<ParameterCandidate> findParameterRoles(onnxir::GraphOp graph,
                                                   mlir::Value loss);

/// The values that the loss depends on in any way; with `byGradients`, only
/// those that gradients reach.
llvm::DenseSet<mlir::Value> findAncestors(mlir::Value loss,
                                          bool byGradients = false);

/// The constant that is the weight of the nearest product before a node; null
/// if there is none nearby.
mlir::Value findWeightBefore(mlir::Operation *node);

} // namespace mp

#endif // MPOPT_TRAINING_PARAMETERROLES_H
