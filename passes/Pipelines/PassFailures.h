//===- PassFailures.h - Failures of passes as users read them ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors of mp-opt's passes begin with a node and say what to do. MLIR's passes
// name ops that a model does not have, or fail without a message. In these
// cases, the user gets the node that the op was made from, advice, and MLIR's
// text as a note.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_PIPELINES_PASSFAILURES_H
#define MPOPT_PASSES_PIPELINES_PASSFAILURES_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

namespace mp {

/// Follows a pass manager. It must be created before the run, and outlive it.
class PassFailures {
public:
  explicit PassFailures(mlir::PassManager &pm);

  /// Reports the failure of a run, unless an error of mp-opt already has.
  void report(mlir::Operation *root);

private:
  mlir::LogicalResult take(mlir::Diagnostic &diagnostic);

  /// The innermost pass that has failed.
  std::string pass;
  /// The first text of an MLIR error, and its place.
  std::string text;
  std::optional<mlir::Location> place;
  bool isTold = false;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace mp

#endif // MPOPT_PASSES_PIPELINES_PASSFAILURES_H
