//===- Cells.h - Steps of recurrent operators -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One step of LSTM, GRU and RNN in one direction: from the states and what the
// input contributes to the gates to the next states.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_RECURRENT_CELLS_H
#define MPOPT_LIB_AUTODIFF_RECURRENT_CELLS_H

#include "mp-opt/Autodiff/Decompositions.h"

namespace mp::recurrent {

/// A function of the schema's list, with its parameters.
struct Activation {
  mlir::Value (*write)(NodeBuilder &, mlir::Value, double, double) = nullptr;
  double alpha = 0, beta = 0;
};

/// The activations of direction `direction`, `byDefault` without the attribute.
mlir::FailureOr<llvm::SmallVector<Activation>>
getActivations(NodeDecomposition &op, unsigned directions, unsigned direction,
               llvm::ArrayRef<llvm::StringLiteral> byDefault);

/// What a step reads besides the states; weights are made in front of the
/// node, and captured by the step.
struct Weights {
  /// Of the recurrence, [hidden, gates * hidden]; for GRU without
  /// linear_before_reset those of two gates, and those of the third.
  mlir::Value recurrent, candidate;
  /// Its biases of the candidate gate, where they are no part of the input's.
  mlir::Value candidateBias;
  /// Of the gates i, o, f, [hidden] each; null if there are none.
  mlir::Value peepholes[3];
};

struct Step {
  NodeBuilder &b;
  NodeView node;
  const Weights &weights;
  llvm::ArrayRef<Activation> activations;
  /// What the input contributes, with biases: [batch, gates * hidden].
  mlir::Value input;
  mlir::Value hidden, cell;

  /// After: the new states, and all gates behind their activations.
  mlir::Value newHidden, newCell;
  llvm::SmallVector<mlir::Value> gates;

  mlir::Value activate(unsigned index, mlir::Value value);
};

/// An operator.
struct Cell {
  /// Gates in the order of the weights.
  unsigned gates;
  bool hasCellState;
  llvm::ArrayRef<llvm::StringLiteral> activations;
  void (*write)(Step &step);
};

const Cell &getLSTM();
const Cell &getGRU();
const Cell &getRNN();

/// Equal parts of `value` along `axis`.
llvm::SmallVector<mlir::Value> split(NodeBuilder &b, mlir::Value value,
                                     int64_t axis, unsigned parts);

} // namespace mp::recurrent

#endif // MPOPT_LIB_AUTODIFF_RECURRENT_CELLS_H
