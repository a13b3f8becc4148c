//===- PassFailures.h - Failures of passes as users read them ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors of ours begin with a node and say what to do. Passes of MLIR speak of
// ops that no model has, or fail without a word: a user gets the node that such
// an op was made of, and what to do, and MLIR's text as a note.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_PIPELINES_PASSFAILURES_H
#define MPOPT_PASSES_PIPELINES_PASSFAILURES_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

namespace mp {

/// Follows a pass manager; to be made before it runs, and to outlive the run.
class PassFailures {
public:
  explicit PassFailures(mlir::PassManager &pm);

  /// After a run that has failed: says so, unless an error of ours has.
  void report(mlir::Operation *root);

private:
  mlir::LogicalResult take(mlir::Diagnostic &diagnostic);

  /// The innermost pass that has failed.
  std::string pass;
  /// The first text of MLIR's, and its place.
  std::string text;
  std::optional<mlir::Location> place;
  bool isTold = false;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace mp

#endif // MPOPT_PASSES_PIPELINES_PASSFAILURES_H
