//===- TrainFlags.h - The flags of mp-run train -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_TRAINFLAGS_H
#define MPOPT_TOOLS_TRAINFLAGS_H

#include "Commands.h"

#include "mp-opt/API/Train/Trainer.h"
#include "mp-opt/API/Train/TrainingProgress.h"
#include "mp-opt/Options/RateFlags.h"

namespace mp {

struct TrainFlags {
  ModelFlags model;
  DataFlags data;
  TrainerOptions trainer;
  std::optional<RateFlags> rate;
  uint64_t epochs = 0;
  std::string dataFile, validation, output, into;
  std::string progress = "auto";
  bool json = false, quiet = false, noShuffle = false;
  std::vector<std::string> files;
  /// The number of ranks; 0 for the number that a launcher has started.
  uint64_t numRanks = 0;
  double timeout = ProcessGroupOptions().timeout;
  std::string wire = "fp32", shard = "none";
  DeviceCollectives collectives = DeviceCollectives::Auto;

  /// Returns an exit code if the run is over.
  std::optional<int> parse(Arguments arguments,
                           mlir::DialectRegistry &registry);
  /// Fails if a file that the run will write is not writable.
  llvm::Error checkPaths() const;

  /// Connects to the other processes of a launcher that `launch` describes;
  /// null if there are none.
  llvm::Expected<std::unique_ptr<ProcessGroup>>
  join(const Launch &launch) const;
  /// Makes a rank other than the first print and write nothing.
  void beQuiet();

  /// Absent if no progress is shown.
  std::optional<ProgressOptions> getProgress() const;

private:
  void addTo(Flags &flags);
  void addDataTo(Flags &flags);
  void addFilesTo(Flags &flags);
  std::optional<int> checkCombination(const Flags &flags) const;
  std::optional<int> checkOutput(const Flags &flags) const;
};

/// Prints `mp-run train: ...`.
void noteTraining(const llvm::Twine &text);

} // namespace mp

#endif // MPOPT_TOOLS_TRAINFLAGS_H
