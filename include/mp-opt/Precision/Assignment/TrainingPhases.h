//===- TrainingPhases.h - Forward, backward, optimizer ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training graph has three phases. The forward pass computes the losses and
// the other results; the backward pass adds the nodes that compute gradients of
// parameters; the rest is the optimizer: updates, and the nodes that only they
// need, such as decay and counters. A graph trains if it has mp.gradient or
// mp.update, or nodes that update values in place.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ASSIGNMENT_TRAININGPHASES_H
#define MPOPT_PRECISION_ASSIGNMENT_TRAININGPHASES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace mp {

enum class TrainingPhase : uint8_t { Forward, Backward, Optimizer };
inline constexpr llvm::StringLiteral phaseNames[] = {"forward", "backward",
                                                     "optimizer"};

/// The nodes of the forward pass; empty for graphs that do not train.
llvm::DenseSet<mlir::Operation *> findForwardPass(onnxir::GraphOp graph);

class TrainingPhases {
public:
  static TrainingPhases compute(onnxir::GraphOp graph);

  bool trains() const { return !forward.empty(); }
  /// The phase of a node, or of the node of the graph whose body holds it.
  TrainingPhase lookup(mlir::Operation *op) const;

private:
  mlir::Block *block = nullptr;
  llvm::DenseSet<mlir::Operation *> forward, backward;
};

/// The operands, and the values that regions capture.
llvm::SetVector<mlir::Value> getAllInputs(mlir::Operation *op);

} // namespace mp

#endif // MPOPT_PRECISION_ASSIGNMENT_TRAININGPHASES_H
