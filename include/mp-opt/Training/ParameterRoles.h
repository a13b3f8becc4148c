//===- ParameterRoles.h - Which constants are parameters --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An exported model does not say which of its constants were trained. Their
// use does: each is followed through what is computed of constants alone
// (casts, transposes, a normalized weight) to the nodes where it meets what
// hangs on the batch, and its place there is its role. Three things answer:
//
//   the schema     the place of a formal parameter: a weight, a bias, a scale,
//                  a running statistic, or nothing that is learned
//   the dataflow   what it meets (an activation, the model's raw input,
//                  positions) and what comes of it (sines of frequencies)
//   the elements   tables that somebody computed: sampled sines, masks, grids
//
// Where neither decides - a single number, a tensor of equal elements - the
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

/// One place where a constant, or what is computed of it, meets the batch.
struct ParameterUse {
  mlir::Operation *node = nullptr;
  ParameterRole role = ParameterRole::None;
  /// Of None: why not, as in "sampled sines and cosines".
  std::string reason;
  /// It could be otherwise: the reader should look.
  bool isDoubtful = false;
  /// No gradient passes between it and the loss.
  bool isStopped = false;
  /// The operand of a node that leads there: the constant's own use.
  mlir::OpOperand *origin = nullptr;
};

/// A float initializer or Constant of the main graph and its subgraphs.
struct ParameterCandidate {
  mlir::Operation *constant = nullptr;
  /// What nodes use: the constant's result, or the graph input whose default
  /// it is.
  mlir::Value value;
  llvm::StringRef name;
  /// Those that the loss depends on, in the order of the graph.
  std::vector<ParameterUse> uses;
  /// All elements are the same number.
  bool isUniform = false;

  /// False if no gradient of the loss could reach it.
  bool isReached() const;
  /// The first use with a role; null if none has one.
  const ParameterUse *getRole() const;
  /// Why it has none.
  std::string getReason() const;
};

/// All of them, in the order of the graph.
std::vector<ParameterCandidate> findParameterRoles(onnxir::GraphOp graph,
                                                   mlir::Value loss);

/// The values that the loss depends on, however; with `byGradients`, as far as
/// gradients pass.
llvm::DenseSet<mlir::Value> findAncestors(mlir::Value loss,
                                          bool byGradients = false);

/// The constant that is the nearest weight of a product in front of a node;
/// null if there is none near.
mlir::Value findWeightBefore(mlir::Operation *node);

} // namespace mp

#endif // MPOPT_TRAINING_PARAMETERROLES_H
