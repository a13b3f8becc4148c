//===- InferredTypes.h - Types that a model does not tell -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Behind a call of a function, types are known only once the function's body
// has been typed. Passes decide by them; the model that is written does not
// depend on them, and is the one that was read if nothing was decided. So each
// node keeps, in `mp.untyped`, the types that it had.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_INFERREDTYPES_H
#define MPOPT_GRAPH_INFERREDTYPES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "llvm/ADT/DenseSet.h"

namespace mp {

class InferredTypes {
public:
  /// True if a type noted here tells more about what `op` yields or, if it has
  /// subgraphs, takes in.
  bool reach(mlir::Operation *op) const;
  /// Before the types of an op's results, or of the inputs of its subgraphs,
  /// change for the first time.
  void keep(mlir::Operation *op);
  /// After they may have changed; without keep(), nothing happens.
  void note(mlir::Operation *op);
  /// Takes them back, but not element types that have changed since.
  static void restore(mlir::Operation *op);

private:
  llvm::DenseSet<mlir::Value> changed;
};

} // namespace mp

#endif // MPOPT_GRAPH_INFERREDTYPES_H
