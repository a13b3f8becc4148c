//===- ModelConversion.h - From a model to a mixed one ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What mp-opt's flags ask for, as values: its --help says what they mean.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODELCONVERSION_H
#define MPOPT_API_MODELCONVERSION_H

#include "mp-opt/Precision/Policy/PolicyRequest.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mp {

class Reports;

/// A training step of a forward model. Without a loss it is the one that the
/// model's training_info describes.
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
  /// With its numbers: "adamw:beta2=0.95". "none" leaves gradients as outputs.
  std::string optimizer = "sgd";
  double learningRate = 0.001, weightDecay = 0;
  /// Bounds of the gradients; 0 for none.
  double clipNorm = 0, clipValue = 0;
  /// "REGEX:KEY=N,..." for the parameters of these names.
  std::vector<std::string> groups;
  /// "ema:decay=D", or empty.
  std::string average;
  /// Steps whose mean gradient makes one update.
  int64_t accumulate = 1;
  /// Gradients are reduced over all ranks that run the step.
  bool distribute = false;
  /// With these, BatchNormalization takes statistics of all ranks' batches.
  bool syncBatchNorm = false;
};

/// What runs in 16 bit.
struct MixedPrecisionRequest {
  PolicyRequest policy;
  /// "min-cut" or "first-operand".
  std::string assign = "min-cut";
  /// Percentage; empty for none.
  std::string minSaving;
  /// "NAME=SIZE" of symbolic dimensions.
  std::vector<std::string> dims;
  /// In bytes.
  int64_t maxWeightCopy = 4096;
  bool raiseOpset = true;
  int64_t opsetLimit = 25;
};

/// What is done to a model, in this order.
struct ConversionOptions {
  std::optional<TrainingRequest> training;
  std::optional<MixedPrecisionRequest> mixed;
  /// "none", "dynamic" with its settings, a number, or "auto": dynamic of a
  /// step in fp16, else none.
  std::string lossScale = "auto";
  /// Show what 16-bit storage does in fp32.
  bool emulate = false;
};

/// Fails where the numbers of a step are none that it could take, naming the
/// flag of mp-opt.
llvm::Error checkTraining(const TrainingRequest &request);

/// Checks a policy and prints the one that is in force, in YAML. `onMessage`
/// gets warnings, and what is wrong with operators' names.
llvm::Error printPolicy(
    PolicyRequest request, const mlir::DialectRegistry &registry,
    llvm::raw_ostream &os,
    llvm::function_ref<void(mlir::DiagnosticSeverity, const llvm::Twine &)>
        onMessage);

/// Adds the passes that do it, and where there are `reports` those that make
/// them, but for the last where precision is not decided (Reports::addEnd).
void buildConversion(mlir::OpPassManager &pm, const ConversionOptions &options,
                     Reports *reports = nullptr);

/// Adds a pass that fails where the model has no dimension of a name in `dims`,
/// entries as in MixedPrecisionRequest, if there are any. buildConversion does
/// so for that request.
void addDimensionCheck(mlir::OpPassManager &pm,
                       llvm::ArrayRef<std::string> dims);

/// Sets `isRefused` when a strict policy's check fails: the model is fine, but
/// the 16 bit that was asked for cannot be had.
void watchStrictCheck(mlir::PassManager &pm, bool &isRefused);

} // namespace mp

#endif // MPOPT_API_MODELCONVERSION_H
