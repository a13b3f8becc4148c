//===- ModelConversion.h - From a model to a mixed one ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The settings of mp-opt's flags as values; its --help explains them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODEL_MODELCONVERSION_H
#define MPOPT_API_MODEL_MODELCONVERSION_H

#include "mp-opt/Precision/Policy/MixedPrecisionRequest.h"
#include "mp-opt/Training/TrainingRequest.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mp {

class Reports;

/// The conversions of a model, in the order in which they are applied.
/// Callbacks that give a conversion the ranges of a model's values in data
/// (API/Run/Calibration.h).
struct RangeObserver {
  /// Called with the model as it was read.
  std::function<void(mlir::ModuleOp)> start;
  /// Called before precision is decided, with the marks of all analyses; marks
  /// values (Precision/Data/RangeMarks.h).
  std::function<llvm::Error(mlir::ModuleOp)> observe;
  /// True if `observe` compiles copies of the model.
  bool compiles = false;
  /// Called once the result has been written: writes the file of ranges.
  std::function<llvm::Error()> finish;
};

struct ConversionOptions {
  std::optional<TrainingRequest> training;
  std::optional<MixedPrecisionRequest> mixed;
  /// Without `mixed`: rules for the types of inputs and outputs (--io), and
  /// whether the opset may be raised for their casts.
  std::vector<std::string> io;
  bool raiseOpset = true;
  /// "none", "dynamic" with its settings, a number, or "auto": dynamic of a
  /// step in fp16, else none.
  std::string lossScale = "auto";
  /// Emulates 16-bit storage in fp32.
  bool emulate = false;
  /// "NAME[:VERSION]" of a runtime that must run every node of the result
  /// (Schema/RuntimeTable.h), or empty; whether what it does not run is only
  /// worth a warning.
  std::string runtime;
  bool isRuntimeLenient = false;
  /// Called before and after the precision of every node is decided; may be
  /// empty. With one of them, functions are inlined.
  std::function<llvm::Error(mlir::ModuleOp)> beforeAssign, afterAssign;
  /// Empty functions if there are no data.
  RangeObserver ranges;
};

/// Fails if settings of a training step are invalid, naming the flag of mp-opt.
llvm::Error checkTraining(const TrainingRequest &request);

/// Checks a policy and prints the effective policy as YAML. `onMessage`
/// receives warnings and errors about names of operators. Without
/// `hasDefaults`, the built-in lists are left out.
llvm::Error printPolicy(
    PolicyRequest request, const mlir::DialectRegistry &registry,
    llvm::raw_ostream &os,
    llvm::function_ref<void(mlir::DiagnosticSeverity, const llvm::Twine &)>
        onMessage,
    bool hasDefaults = true);

/// Adds the passes of a conversion, with those that fill `reports` if given,
/// and those that `addOthers` adds, whose failure is returned. A pass fails if
/// the model has no dimension with a name in `dims` (entries as in
/// MixedPrecisionRequest, whose own are checked too). Sets `isRefused` when a
/// strict policy's or a runtime's check fails: the model is fine, but what was
/// asked for cannot be had.
mlir::LogicalResult
addConversion(mlir::PassManager &pm, const ConversionOptions &options,
              llvm::ArrayRef<std::string> dims, Reports *reports,
              bool &isRefused,
              llvm::function_ref<mlir::LogicalResult()> addOthers = nullptr);

} // namespace mp

#endif // MPOPT_API_MODEL_MODELCONVERSION_H
