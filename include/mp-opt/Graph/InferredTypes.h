//===- InferredTypes.h - Types that a model does not store ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After a call of a function, types are known only once the function's body has
// been typed. Passes use these types for decisions. The written model must not
// depend on them: it is the model that was read if nothing was decided. Each
// node therefore keeps its original types in `mp.untyped`.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_INFERREDTYPES_H
#define MPOPT_GRAPH_INFERREDTYPES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "llvm/ADT/DenseSet.h"

namespace mp {

class InferredTypes {
public:
  /// True if types noted here may refine those of `op`: that of an operand, or
  /// of a value that one of its subgraphs yields, is among them.
  bool reach(mlir::Operation *op) const;
  /// Must be called before the types of an op's results, or of the inputs of
  /// its subgraphs, change for the first time.
  void keep(mlir::Operation *op);
  /// Must be called after they may have changed; has no effect without keep().
  void note(mlir::Operation *op);
  /// Restores the types, except element types that have changed since.
  static void restore(mlir::Operation *op);

private:
  llvm::DenseSet<mlir::Value> changed;
};

} // namespace mp

#endif // MPOPT_GRAPH_INFERREDTYPES_H
