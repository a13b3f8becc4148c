//===- FunctionInliner.h - Nodes of a function for one call -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_GRAPH_FUNCTIONINLINER_H
#define MPOPT_LIB_GRAPH_FUNCTIONINLINER_H

#include "mp-opt/Graph/NodeCopier.h"

#include "llvm/ADT/SetVector.h"

namespace mp {

/// Copies the body of `function` before `call`.
class FunctionInliner {
public:
  /// `values` are the values of the function's attributes.
  FunctionInliner(NodeBuilder &builder, onnxir::FunctionOp function,
                  mlir::Operation *call, const AttributeValues &values);

  /// If true, constants are cast to the type of the other operand: some of
  /// ONNX's own functions only have them in fp32.
  bool castsConstants = false;

  mlir::LogicalResult run();
  llvm::ArrayRef<mlir::Operation *> getNodes() const {
    return nodes.getArrayRef();
  }

private:
  mlir::InFlightDiagnostic emitError();
  mlir::LogicalResult checkCall();
  mlir::LogicalResult checkOpsets();
  void copyNodes();
  void resolveAttributes(mlir::Operation *op);
  void castConstants(mlir::Operation *op);
  void addMetadata(mlir::Operation *op);
  mlir::LogicalResult replaceResults();

  NodeBuilder &builder;
  onnxir::FunctionOp function;
  mlir::Operation *call;
  const AttributeValues &values;
  NodeCopier copier;
  llvm::SetVector<mlir::Operation *> nodes;
};

} // namespace mp

#endif // MPOPT_LIB_GRAPH_FUNCTIONINLINER_H
