//===- BatchFlow.h - Values that depend on the batch ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_ROLES_BATCHFLOW_H
#define MPOPT_LIB_TRAINING_ROLES_BATCHFLOW_H

#include "mp-opt/Dialect/ONNX/GraphEditor.h"

namespace mp {

/// Classifies values in one walk over the main graph, including subgraphs.
/// Functions must have been inlined.
class BatchFlow {
public:
  enum Kind : uint8_t {
    /// Computed from constants and sizes alone.
    Constant,
    /// Computed from integers and booleans of the batch, or from positions that
    /// the model has written out: masks, classes, distances.
    Index,
    /// Activations: computed from floats of the batch, or by a look-up or
    /// product with integers of the batch.
    Data,
  };

  explicit BatchFlow(onnxir::GraphOp graph);

  Kind get(mlir::Value value) const { return kinds.lookup(value); }
  /// True for an input of the model, cast, rearranged, or combined with
  /// constants element by element.
  bool isRaw(mlir::Value value) const { return raw.contains(value); }

private:
  void visit(mlir::Block &block);
  void visit(mlir::Operation *op);
  void visitBodies(mlir::Operation *op);
  void set(mlir::Value value, Kind kind);
  Kind getOperands(mlir::Operation *op) const;

  llvm::DenseMap<mlir::Value, Kind> kinds;
  llvm::DenseSet<mlir::Value> raw;
};

} // namespace mp

#endif // MPOPT_LIB_TRAINING_ROLES_BATCHFLOW_H
