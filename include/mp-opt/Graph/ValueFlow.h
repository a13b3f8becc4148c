//===- ValueFlow.h - Values through control flow ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_VALUEFLOW_H
#define MPOPT_GRAPH_VALUEFLOW_H

#include "mp-opt/Graph/Functions.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mp {

/// True for If, Loop and Scan of the default domain.
bool isControlFlow(mlir::Operation *op);

/// Calls `take` with every value that the operand of an If, Loop or Scan, or of
/// the yield of one of their bodies, becomes: results of the op, arguments of
/// its bodies. Returns false for other ops, without any call.
bool forEachFlowTarget(mlir::OpOperand &use,
                       llvm::function_ref<void(mlir::Value)> take);

/// The same in both directions for all scopes of a module, including calls of
/// functions that have a scope of their own.
class ValueFlow {
public:
  explicit ValueFlow(mlir::ModuleOp module);

  /// Like forEachFlowTarget; in addition, a call passes its operands to the
  /// function's arguments, and the function's yields become the call's results.
  bool forEachTarget(mlir::OpOperand &use,
                     llvm::function_ref<void(mlir::Value)> take) const;
  /// True for calls of functions that have a scope of their own: facts hold for
  /// the nodes of the function, not for the call.
  bool isCall(mlir::Operation *op) const;
  /// The values that become `value`; empty for the results of other nodes.
  llvm::ArrayRef<mlir::Value> getSources(mlir::Value value) const;
  /// Nodes, and yields that pass values on, in the order of the module.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }
  llvm::ArrayRef<mlir::Operation *> getScopes() const { return scopes; }

private:
  FunctionTable functions;
  llvm::SmallVector<mlir::Operation *> scopes;
  std::vector<mlir::Operation *> ops;
  /// The calls of each function.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 1>>
      calls;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>> sources;
};

} // namespace mp

#endif // MPOPT_GRAPH_VALUEFLOW_H
