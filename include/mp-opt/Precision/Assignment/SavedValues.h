//===- SavedValues.h - What is kept for the backward pass -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forward pass of a graph that trains is what its losses and its other
// results are computed from. Values of it that nodes behind it read must be
// kept in memory until then; most of a training step's memory is these.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ASSIGNMENT_SAVEDVALUES_H
#define MPOPT_PRECISION_ASSIGNMENT_SAVEDVALUES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "llvm/ADT/DenseSet.h"

namespace mp {

struct SavedValue {
  mlir::Value value;
  /// The uses behind the forward pass, in no order.
  llvm::SmallVector<mlir::OpOperand *, 2> uses;
};

struct SavedValues {
  /// Nodes of the forward pass; empty for graphs that do not train.
  llvm::DenseSet<mlir::Operation *> forward;
  /// In the order of the graph, its inputs first. Parameters, states and
  /// constants are no such values, nor what is computed from these alone; sizes
  /// need not be kept.
  std::vector<SavedValue> values;
};

SavedValues findSavedValues(onnxir::GraphOp graph);

} // namespace mp

#endif // MPOPT_PRECISION_ASSIGNMENT_SAVEDVALUES_H
