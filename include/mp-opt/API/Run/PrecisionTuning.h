//===- PrecisionTuning.h - Error against bytes ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_PRECISIONTUNING_H
#define MPOPT_API_RUN_PRECISIONTUNING_H

#include "mp-opt/API/Model/Model.h"
#include "mp-opt/API/Model/ModelConversion.h"
#include "mp-opt/API/Run/AttributionReport.h"

namespace mp {

struct TuningOptions {
  AttributionOptions attribution;
  /// The relative root mean square error to stay within; absent for the curve
  /// alone.
  std::optional<double> target;
  bool hasCurve = true;
  /// Searches that need a run per step, too.
  bool hasBaselines = false;
};

struct TuningReport {
  struct Point {
    /// The limit over the error of everything in 16 bit.
    double share = 1;
    double predicted = 0, measured = 0;
    int64_t bytes = 0;
    size_t lowNodes = 0;
  };
  struct Baseline {
    llvm::StringRef name;
    unsigned runs = 0;
    int64_t bytes = 0;
    double error = 0, seconds = 0;
  };

  std::string precision;
  bool areGradients = false;
  size_t batches = 0;
  unsigned nodesTotal = 0;
  int64_t f32Bytes = 0;
  /// Everything in 16 bit that may be, first; then less and less.
  std::vector<Point> curve;
  std::optional<FoundPrecision> found;
  /// The error of fp32 itself, if it exceeds the target, which cannot be met
  /// then.
  OwnError ownError;
  size_t lowNodes = 0;
  std::vector<Baseline> baselines;
  ErrorAttribution::Figures figures;
  /// The result as a policy that --policy=FILE takes.
  std::string policy;

  void print(llvm::raw_ostream &os) const;
  void printJSON(llvm::raw_ostream &os) const;
  /// Prints a self-contained page with a plot; `input` is the model's name.
  void printHTML(llvm::StringRef input, llvm::raw_ostream &os) const;
};

/// Searches the precision of a model. The model is left as it is in the middle
/// of the conversion.
llvm::Expected<TuningReport> tunePrecision(Model &model,
                                           ConversionOptions conversion,
                                           llvm::ArrayRef<std::string> dims,
                                           BatchSource readBatches,
                                           TuningOptions options);

} // namespace mp

#endif // MPOPT_API_RUN_PRECISIONTUNING_H
