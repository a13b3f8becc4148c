//===- OptionGroups.h - Flags of one thing each -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_OPTIONGROUPS_H
#define MPOPT_TOOLS_OPTIONGROUPS_H

#include "FlagSet.h"

#include "mp-opt/API/CodeOutput.h"
#include "mp-opt/API/ModelConversion.h"

namespace mp {

// Each of these makes its flags as it is made, and must live when they are
// parsed; they set what they are made with. Those that ask for something at all
// are among the `main` flags. `check` completes what was set, and fails where
// the flags contradict themselves or each other.

struct PrecisionFlags {
  PrecisionFlags(FlagSet &main, MixedPrecisionRequest &request);

  llvm::Error check(MixedPrecisionRequest &request, bool isMixed) const;

  bool bf16 = false, fp16 = false;
  FlagSet flags{"mp-opt: precision"};
};

struct TrainingFlags {
  TrainingFlags(FlagSet &main, TrainingRequest &request);
  llvm::Error check(bool isMixed) const;

  bool train = false;
  std::string lossScale = "auto";
  TrainingRequest &request;
  FlagSet &main, flags{"mp-opt: training"};
};

struct CodeFlags {
  explicit CodeFlags(CodeOptions &options);
  /// `isCode` if they have anything to speak of.
  llvm::Error check(CodeOptions &options, bool isCode) const;

  std::string kernels = "auto";
  FlagSet flags{"mp-opt: code"};
};

} // namespace mp

#endif // MPOPT_TOOLS_OPTIONGROUPS_H
