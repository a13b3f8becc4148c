//===- OptionGroups.h - Flags of one thing each -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPTIONS_OPTIONGROUPS_H
#define MPOPT_OPTIONS_OPTIONGROUPS_H

#include "mp-opt/API/CodeOutput.h"
#include "mp-opt/API/ModelConversion.h"
#include "mp-opt/Options/FlagTable.h"

namespace mp {

// Each of these adds a group to the flags as it is made, and must live when
// they are parsed; they set what they are made with. `check` completes what was
// set, and fails where the flags contradict themselves or each other.

/// --mixed-bf16 and --mixed-fp16, and --precision, which says either.
void addPrecisionFlags(FlagTable &flags, bool &bf16, bool &fp16,
                       std::string &precision, llvm::StringRef help);
/// --device; `set` gets the kind.
Flag &addDeviceFlag(FlagTable &flags, llvm::StringRef help,
                    std::function<void(DeviceKind)> set);

struct PrecisionFlags {
  PrecisionFlags(FlagTable &flags, MixedPrecisionRequest &request,
                 std::vector<std::string> &dims);

  /// Whether one of them asks for mixed precision.
  bool isMixed() const;
  llvm::Error check(MixedPrecisionRequest &request, bool isMixed) const;

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
  /// `isCode` if they have anything to speak of.
  llvm::Error check(CodeOptions &options, bool isCode) const;

  llvm::Error checkTarget(CodeOptions &options) const;

  std::string kernels = "auto", target;
  FlagTable &flags;
};

} // namespace mp

#endif // MPOPT_OPTIONS_OPTIONGROUPS_H
