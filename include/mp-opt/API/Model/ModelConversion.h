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

#include "mp-opt/Precision/Policy/PolicyRequest.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mp {

class Reports;

/// The settings of a training step for a forward model. Without a loss, the
/// model's training_info describes the step.
struct TrainingRequest {
  std::vector<std::string> loss;
  int64_t classAxis = 1;
  /// Patterns of names, or @FILE.
  std::vector<std::string> trainOnly, freeze;
  /// "NAME,NAME" of initializers that become one parameter.
  std::vector<std::string> tie;
  /// Patterns of parameters of which each module gets a copy.
  std::vector<std::string> untie;
  /// Patterns of values that pass no gradient.
  std::vector<std::string> stopGradient;
  /// "NAME=SIZE" of named dimensions and of inputs that are whole numbers.
  std::vector<std::string> fixed;
  bool straightThrough = false;
  /// The optimizer with its settings: "adamw:beta2=0.95". "none" leaves
  /// gradients as outputs.
  std::string optimizer = "sgd";
  double learningRate = 0.001, weightDecay = 0;
  /// Bounds of the gradients; 0 for none.
  double clipNorm = 0, clipValue = 0;
  /// "REGEX:KEY=N,..." for the parameters of these names.
  std::vector<std::string> groups;
  /// "ema:decay=D", or empty.
  std::string average;
  /// The number of steps whose mean gradient makes one update.
  int64_t accumulate = 1;
  /// Gradients are reduced over all ranks that run the step.
  bool distribute = false;
  /// With `distribute`, BatchNormalization takes statistics of all ranks'
  /// batches.
  bool syncBatchNorm = false;
};

/// Selects the nodes that run in 16 bit.
struct MixedPrecisionRequest {
  PolicyRequest policy;
  /// "min-cut" or "first-operand".
  std::string assign = "min-cut";
  /// The minimum saving as a percentage; empty for none.
  std::string minSaving;
  /// "NAME=SIZE" of symbolic dimensions.
  std::vector<std::string> dims;
  /// In bytes.
  int64_t maxWeightCopy = 4096;
  bool raiseOpset = true;
  int64_t opsetLimit = 25;
};

/// The conversions of a model, in the order in which they are applied.
struct ConversionOptions {
  std::optional<TrainingRequest> training;
  std::optional<MixedPrecisionRequest> mixed;
  /// "none", "dynamic" with its settings, a number, or "auto": dynamic of a
  /// step in fp16, else none.
  std::string lossScale = "auto";
  /// Emulates 16-bit storage in fp32.
  bool emulate = false;
};

/// Fails if settings of a training step are invalid, naming the flag of mp-opt.
llvm::Error checkTraining(const TrainingRequest &request);

/// Checks a policy and prints the effective policy as YAML. `onMessage`
/// receives warnings and errors about names of operators.
llvm::Error printPolicy(
    PolicyRequest request, const mlir::DialectRegistry &registry,
    llvm::raw_ostream &os,
    llvm::function_ref<void(mlir::DiagnosticSeverity, const llvm::Twine &)>
        onMessage);

/// Adds the passes of a conversion, with those that fill `reports` if given,
/// and those that `addOthers` adds, whose failure is returned. A pass fails if
/// the model has no dimension with a name in `dims` (entries as in
/// MixedPrecisionRequest, whose own are checked too). Sets `isRefused` when a
/// strict policy's check fails: the model is fine, but the 16 bit that was
/// asked for cannot be had.
mlir::LogicalResult
addConversion(mlir::PassManager &pm, const ConversionOptions &options,
              llvm::ArrayRef<std::string> dims, Reports *reports,
              bool &isRefused,
              llvm::function_ref<mlir::LogicalResult()> addOthers = nullptr);

} // namespace mp

#endif // MPOPT_API_MODEL_MODELCONVERSION_H
