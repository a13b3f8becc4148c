//===- ErrorSearch.h - The cheapest precision within an error ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the assignment of precisions that moves the fewest bytes within an
// error that the user names. mp-assign finds it for a predicted error; a run
// measures it, and the error that is asked for is corrected by the ratio, a few
// times. An assignment never moves more bytes than fp32.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_ERRORSEARCH_H
#define MPOPT_API_RUN_ERRORSEARCH_H

#include "mp-opt/API/Run/ErrorAttribution.h"
#include "mp-opt/Precision/Policy/MixedPrecisionRequest.h"

namespace mp {

/// An assignment of precisions.
struct AssignedPrecision {
  /// Spots that round, by index, and nodes that are 16 bit.
  std::vector<unsigned> active;
  std::vector<mlir::Operation *> low;
  /// The limit of the predicted error that gave it; negative for fp32 alone.
  double limit = -1;
  double predicted = 0;
  /// Absent if it was not run.
  std::optional<double> measured = {};
  /// Bytes of all float values, and of casts between the precisions.
  int64_t bytes = 0;
};

/// The result of a search.
struct FoundPrecision {
  double target = 0;
  AssignedPrecision best;
  unsigned runs = 0;
  double seconds = 0;
};

class ErrorSearch {
public:
  /// `module` has classes and no functions; its marks are changed. `errors` is
  /// that of the module.
  ErrorSearch(mlir::ModuleOp module, const MixedPrecisionRequest &request,
              ErrorAttribution &errors)
      : module(module), request(request), errors(errors) {}

  /// Attributes errors, with everything 16 bit that may be, and marks nodes
  /// with them.
  llvm::Error start();

  const AssignedPrecision &getF32() const { return f32; }
  const AssignedPrecision &getAll() const { return all; }
  /// The assignment with the fewest bytes within a predicted error.
  llvm::Expected<AssignedPrecision> assign(double limit);
  /// Measures an assignment in a run per batch.
  llvm::Error measure(AssignedPrecision &assigned);

  /// Finds the assignment with the fewest bytes whose measured error is at most
  /// `target`, by `maxRuns` measurements at most, and leaves the module with
  /// its marks: mp-assign then finds the same.
  llvm::Expected<FoundPrecision> find(double target, unsigned maxRuns = 6);

  /// For comparison: assignments that need a run per step. Takes halves of the
  /// nodes, in order, as long as the error is within the target; or all nodes
  /// that stay within it by their errors alone, the smallest first.
  llvm::Expected<FoundPrecision> bisect(double target);
  llvm::Expected<FoundPrecision> takeByList(double target);

private:
  llvm::Expected<FoundPrecision> searchByCuts(double target, unsigned maxRuns);
  llvm::Expected<FoundPrecision> searchByHalves(double target);
  llvm::Expected<FoundPrecision> searchByList(double target);
  void annotate(bool isKnown);
  void setLimit(double limit);
  llvm::Expected<AssignedPrecision>
  assignNodes(llvm::ArrayRef<mlir::Operation *> low);
  /// The same with its error, in one more run.
  llvm::Expected<AssignedPrecision>
  measureNodes(llvm::ArrayRef<mlir::Operation *> low, unsigned &runs);
  llvm::Expected<AssignedPrecision> runAssign(mlir::ModuleOp on);

  mlir::ModuleOp module;
  const MixedPrecisionRequest &request;
  ErrorAttribution &errors;
  AssignedPrecision f32, all;
};

} // namespace mp

#endif // MPOPT_API_RUN_ERRORSEARCH_H
