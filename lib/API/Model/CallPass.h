//===- CallPass.h - A function at its place in a pipeline -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_MODEL_CALLPASS_H
#define MPOPT_LIB_API_MODEL_CALLPASS_H

#include "mp-opt/API/Model/Error.h"

#include "Pipelines/Pipelines.h"

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
           std::function<llvm::Error(mlir::ModuleOp)> function,
           bool compiles = false)
      : name(name), function(std::move(function)), compiles(compiles) {}

  llvm::StringRef getName() const override { return name; }
  void getDependentDialects(mlir::DialectRegistry &registry) const override {
    if (compiles)
      registerLoweringDialects(registry);
  }
  void runOnOperation() override {
    llvm::Error failed = function(getOperation());
    if (!failed)
      return;
    ErrorDetails details = takeDetails(std::move(failed));
    if (!details.isReported)
      getOperation().emitError() << details.text;
    signalPassFailure();
  }

private:
  llvm::StringRef name;
  std::function<llvm::Error(mlir::ModuleOp)> function;
  /// The function compiles copies of the module.
  bool compiles;
};

} // namespace mp

#endif // MPOPT_LIB_API_MODEL_CALLPASS_H
