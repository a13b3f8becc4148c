//===- Cells.h - Steps of recurrent operators -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One step of LSTM, GRU and RNN in one direction: computes the next states from
// the states and the contribution of the input to the gates.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_RECURRENT_CELLS_H
#define MPOPT_LIB_AUTODIFF_RECURRENT_CELLS_H

#include "mp-opt/Autodiff/Decompositions.h"

namespace mp::recurrent {

/// An activation function of the schema's list, with its parameters.
struct Activation {
  mlir::Value (*write)(NodeBuilder &, mlir::Value, double, double) = nullptr;
  double alpha = 0, beta = 0;
};

/// The activations of direction `direction`; `byDefault` if the attribute is
/// absent.
mlir::FailureOr<llvm::SmallVector<Activation>>
getActivations(NodeDecomposition &op, unsigned directions, unsigned direction,
               llvm::ArrayRef<llvm::StringLiteral> byDefault);

/// The operands of a step other than states. Weights are computed before the
/// node, and captured by the step.
struct Weights {
  /// Weights of the recurrence, [hidden, gates * hidden]; for GRU without
  /// linear_before_reset the weights of two gates, and those of the third.
  mlir::Value recurrent, candidate;
  /// Its biases of the candidate gate, if they are not part of the input's.
  mlir::Value candidateBias;
  /// Peephole weights of the gates i, o, f, [hidden] each; null if there are
  /// none.
  mlir::Value peepholes[3];
};

struct Step {
  NodeBuilder &b;
  NodeView node;
  const Weights &weights;
  llvm::ArrayRef<Activation> activations;
  /// The contribution of the input, with biases: [batch, gates * hidden].
  mlir::Value input;
  mlir::Value hidden, cell;

  /// Results: the new states, and all gates after their activations.
  mlir::Value newHidden, newCell;
  llvm::SmallVector<mlir::Value> gates;

  mlir::Value activate(unsigned index, mlir::Value value);
};

/// A recurrent operator.
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

/// Splits `value` along `axis` into equal parts.
llvm::SmallVector<mlir::Value> split(NodeBuilder &b, mlir::Value value,
                                     int64_t axis, unsigned parts);

} // namespace mp::recurrent

#endif // MPOPT_LIB_AUTODIFF_RECURRENT_CELLS_H
