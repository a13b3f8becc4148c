//===- CallPass.h - A function at its place in a pipeline -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_MODEL_CALLPASS_H
#define MPOPT_LIB_API_MODEL_CALLPASS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <functional>

namespace mp {

/// Calls a function at its place in a pipeline.
class CallPass
    : public mlir::PassWrapper<CallPass, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CallPass)

  CallPass(llvm::StringRef name,
           std::function<mlir::LogicalResult(mlir::ModuleOp)> function)
      : name(name), function(std::move(function)) {}

  llvm::StringRef getName() const override { return name; }
  void runOnOperation() override {
    if (failed(function(getOperation())))
      signalPassFailure();
  }

private:
  llvm::StringRef name;
  std::function<mlir::LogicalResult(mlir::ModuleOp)> function;
};

} // namespace mp

#endif // MPOPT_LIB_API_MODEL_CALLPASS_H
