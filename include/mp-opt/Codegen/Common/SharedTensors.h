//===- SharedTensors.h - Tensors that may be one buffer ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A branch or an iteration hands a tensor on without a copy: the values that
// two branches yield in one place have one buffer for bufferization, and so do
// all values that they yield in other places.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_SHAREDTENSORS_H
#define MPOPT_CODEGEN_COMMON_SHAREDTENSORS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace mp {

class SharedTensors {
public:
  explicit SharedTensors(mlir::func::FuncOp function);

  /// The same for all tensors that branches or iterations make one buffer of;
  /// null for a tensor that no op hands on. A tensor and its view are not such
  /// a group: bufferization copies one of these where it has to.
  const void *getGroup(mlir::Value tensor) const;

private:
  void visit(mlir::Operation *op);
  void join(mlir::ValueRange left, mlir::ValueRange right);

  llvm::EquivalenceClasses<void *> classes;
  /// Tensors in whose classes a branch or an iteration hands a tensor on.
  llvm::SmallVector<mlir::Value> handedOn;
  llvm::DenseSet<const void *> groups;
};

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_SHAREDTENSORS_H
