//===- OptionGroups.h - Flags of one thing each -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPTIONS_OPTIONGROUPS_H
#define MPOPT_OPTIONS_OPTIONGROUPS_H

#include "mp-opt/API/Model/CodeOutput.h"
#include "mp-opt/API/Model/ModelConversion.h"
#include "mp-opt/API/Run/Calibration.h"
#include "mp-opt/Options/FlagTable.h"

namespace mp {

// Each of these objects adds a group of flags in its constructor, and must live
// until they are parsed. Parsing sets the values passed to the constructor.
// `check` completes these values, and fails if flags are invalid or contradict
// each other.

/// Adds --mixed-bf16 and --mixed-fp16, and --precision, which is equivalent to
/// one of them.
void addPrecisionFlags(FlagTable &flags, bool &bf16, bool &fp16,
                       std::string &precision, llvm::StringRef help);
/// Adds --device; `set` receives the kind.
Flag &addDeviceFlag(FlagTable &flags, llvm::StringRef help,
                    std::function<void(DeviceKind)> set);

struct PrecisionFlags {
  /// Without `calibration`, flags of data are left out.
  PrecisionFlags(FlagTable &flags, MixedPrecisionRequest &request,
                 std::vector<std::string> &dims,
                 CalibrationOptions *calibration = nullptr);

  /// True if one of them requests mixed precision.
  bool isMixed() const;
  llvm::Error check(MixedPrecisionRequest &request, bool isMixed) const;
  /// Fails if flags of ranges in data contradict each other.
  llvm::Error checkRanges(const MixedPrecisionRequest &request,
                          const CalibrationOptions &calibration) const;

  bool bf16 = false, fp16 = false;
  std::string precision;
  FlagTable &flags;
};

struct TrainingFlags {
  TrainingFlags(FlagTable &flags, TrainingRequest &request);
  llvm::Error check(bool isMixed) const;

  bool train = false;
  std::string lossScale = "auto";
  TrainingRequest &request;
  FlagTable &flags;
};

struct CodeFlags {
  CodeFlags(FlagTable &flags, CodeOptions &options);
  /// `isCode` is true if code is written; otherwise no flag may be given.
  llvm::Error check(CodeOptions &options, bool isCode) const;

  llvm::Error checkTarget(CodeOptions &options) const;

  std::string kernels = "auto", target;
  FlagTable &flags;
};

} // namespace mp

#endif // MPOPT_OPTIONS_OPTIONGROUPS_H
