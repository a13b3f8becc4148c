//===- Calibration.h - Ranges for the decision of a precision ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_CALIBRATION_H
#define MPOPT_API_RUN_CALIBRATION_H

#include "mp-opt/API/Model/DataSet.h"
#include "mp-opt/API/Model/ModelConversion.h"
#include "mp-opt/API/Model/ModelInput.h"
#include "mp-opt/Precision/Data/ObservedRanges.h"

#include "llvm/ADT/StringMap.h"

namespace mp {

/// The key of a model's metadata that holds ranges.
constexpr llvm::StringLiteral rangesKey = "mp-opt.ranges";

struct CalibrationOptions {
  /// Data as for readDataBatches; "random" for random numbers. Empty to measure
  /// nothing.
  std::vector<std::string> data;
  /// Accept random numbers.
  bool forcesRandom = false;
  /// With data, the one file that is written; otherwise the files to read.
  std::vector<std::string> ranges;
  /// NAME=SIZE of symbolic dimensions.
  std::vector<std::string> dims;
  /// Do not write the file.
  bool isDryRun = false;
  MessageFn onMessage;
};

/// Reads the data for a model, or a training step, in batches. Fails if the
/// data do not fit, or have numbers that the model cannot take.
llvm::Expected<std::vector<DataSet>>
readModelBatches(mlir::ModuleOp module, const CalibrationOptions &options);

/// Measures the values of a model, which may be marked by the passes before
/// mp-classify, with fp32 runs on data. Fails if the data do not fit, have
/// numbers that the model cannot take, or make a NaN.
llvm::Expected<ObservedRanges> calibrate(mlir::ModuleOp module,
                                         const CalibrationOptions &options);

/// The callbacks by which a conversion gets ranges: from data, from files or,
/// with neither, from the metadata of the model, where it leaves them.
RangeObserver makeRangeObserver(const CalibrationOptions &options);

} // namespace mp

#endif // MPOPT_API_RUN_CALIBRATION_H
