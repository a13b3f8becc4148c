//===- ErrorFlags.h - Flags to attribute and limit errors -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options of mp-opt attribute and mp-opt tune, of the C API and of Python's
// calls.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPTIONS_ERRORFLAGS_H
#define MPOPT_OPTIONS_ERRORFLAGS_H

#include "mp-opt/API/Run/PrecisionTuning.h"
#include "mp-opt/Options/OptionGroups.h"

#include <string>
#include <vector>

namespace mp {

enum class ErrorCommand { Attribute, Tune };

struct ErrorOptions {
  ConversionOptions conversion;
  /// NAME=SIZE of symbolic dimensions.
  std::vector<std::string> dims;
  std::string schemas;
  /// Folders in which links to external data may end.
  std::vector<std::string> externalDataRoots;
  /// `data` are those that errors are measured on; without them, those of
  /// --calibrate.
  CalibrationOptions calibration, data;
  /// The probes of both commands.
  AttributionOptions attribution;
  /// The number of nodes that are measured alone, too.
  uint64_t measured = 10;
  /// Measure the time of a plain fp32 run, too.
  bool measuresTime = false;
  /// The options of a search, without `attribution`.
  TuningOptions tuning;

  /// Reads the data for a model before its precision is decided. The options
  /// must outlive the result.
  BatchSource getBatches() const;
  /// The request of a model called `name`, under the same condition.
  Attributor::Request getRequest(llvm::StringRef name) const;
  /// Runs mp-opt tune. Fails as tunePrecision.
  llvm::Expected<TuningReport> tune(Model &model) const;
};

class ErrorFlags {
public:
  /// Adds the rows of a command to `table`. This object and the options must
  /// stay at their addresses while flags are parsed.
  ErrorFlags(FlagTable &table, ErrorOptions &options, ErrorCommand command);

  /// Completes the options; fails with kind Usage if flags are invalid,
  /// contradict each other, or if there are no data.
  llvm::Error complete();

private:
  void addAttribution();
  void addTuning();
  llvm::Error check();
  llvm::Error checkTarget();

  FlagTable &table;
  ErrorOptions &options;
  PrecisionFlags precision;
  TrainingFlags training;
  uint64_t probes = 2;
  double target = 0;
  bool hidesCurve = false;
};

} // namespace mp

#endif // MPOPT_OPTIONS_ERRORFLAGS_H
