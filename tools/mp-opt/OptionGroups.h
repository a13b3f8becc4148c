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

/// Flags that set `mixed`, all but --mixed-bf16 and --mixed-fp16.
void addPrecisionFlags(FlagSet &flags, MixedPrecisionRequest &mixed);
/// True if a flag is there that speaks of precision alone.
bool needMixed(const FlagSet &flags, bool isForCode);

struct TrainingFlags {
  bool train = false;
  std::string lossScale = "auto";

  /// The other flags set `request`.
  void addTo(FlagSet &flags, TrainingRequest &request);
  /// Fails where they contradict themselves or each other.
  llvm::Error check(const FlagSet &flags, const TrainingRequest &request,
                    bool isMixed) const;
};

struct CodeFlags {
  std::string kernels = "auto";

  /// The other flags set `options`.
  void addTo(FlagSet &flags, CodeOptions &options);
  /// Completes `options`. Fails where the flags contradict themselves or each
  /// other; `isCode` if they have anything to speak of.
  llvm::Error check(const FlagSet &flags, CodeOptions &options,
                    bool isCode) const;
};

} // namespace mp

#endif // MPOPT_TOOLS_OPTIONGROUPS_H
