//===- TrainingFlags.h - What the command line says of training -*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_TRAININGFLAGS_H
#define MPOPT_TOOLS_TRAININGFLAGS_H

#include "FlagSet.h"

#include "mp-opt/API/Conversion.h"

namespace mp {

/// Prints what --help=train says.
void printTrainingHelp();

struct TrainingFlags {
  bool train = false;
  std::string lossScale = "auto";

  /// The other flags set `request`.
  void addTo(FlagSet &flags, TrainingRequest &request);
  /// Fails where they contradict themselves or each other.
  llvm::Error check(const FlagSet &flags, const TrainingRequest &request,
                    bool isMixed) const;
};

} // namespace mp

#endif // MPOPT_TOOLS_TRAININGFLAGS_H
