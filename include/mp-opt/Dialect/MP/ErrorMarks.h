//===- ErrorMarks.h - Attributed errors of nodes and models -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Typed access to the marks that attribution leaves for reports. Errors are
// root mean squares, relative to those of the outputs or, of a training step,
// of the gradients. A measured error is infinite if a result is not finite.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_MP_ERRORMARKS_H
#define MPOPT_DIALECT_MP_ERRORMARKS_H

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace mp {

/// The error that the roundings of a node cause (mark::nodeError).
struct NodeErrorMark {
  /// The error if only this node is 16 bit.
  double predicted = 0;
  /// The part of the predicted squared error of all nodes together; 0 if that
  /// is not finite.
  double share = 0;
  /// The error if only this node is 16 bit; absent if it was not run.
  std::optional<double> measured = {};

  /// Absent if the node has no mark.
  static std::optional<NodeErrorMark> read(mlir::Operation *node);
  void write(mlir::Operation *node) const;
};

/// The error of a conversion (mark::errorTotals).
struct ErrorTotals {
  bool areGradients = false;
  double predicted = 0, measured = 0;
  uint64_t batches = 0;
  /// The error to stay within; absent if none was asked for.
  std::optional<double> target = {};
  /// Reasons not to rely on the prediction.
  std::vector<std::string> doubts = {};

  /// Absent if the module has no mark.
  static std::optional<ErrorTotals> read(mlir::ModuleOp module);
  void write(mlir::ModuleOp module) const;
};

} // namespace mp

#endif // MPOPT_DIALECT_MP_ERRORMARKS_H
