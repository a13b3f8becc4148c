//===- SavedValues.h - Values kept for the backward pass --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forward pass of a training graph computes its losses and its other
// results. Values of it that nodes after the pass read must be kept in memory
// until then; they take most of the memory of a training step.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ASSIGNMENT_SAVEDVALUES_H
#define MPOPT_PRECISION_ASSIGNMENT_SAVEDVALUES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "llvm/ADT/DenseSet.h"

namespace mp {

struct SavedValue {
  mlir::Value value;
  /// The uses after the forward pass, in no particular order.
  llvm::SmallVector<mlir::OpOperand *, 2> uses;
};

struct SavedValues {
  /// Nodes of the forward pass; empty for graphs that do not train.
  llvm::DenseSet<mlir::Operation *> forward;
  /// Saved values in the order of the graph, its inputs first. Parameters,
  /// states, constants and values computed from these alone do not count; sizes
  /// need not be kept.
  std::vector<SavedValue> values;
};

SavedValues findSavedValues(onnxir::GraphOp graph);

} // namespace mp

#endif // MPOPT_PRECISION_ASSIGNMENT_SAVEDVALUES_H
