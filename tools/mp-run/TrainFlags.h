//===- TrainFlags.h - The flags of mp-run train -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_TRAINFLAGS_H
#define MPOPT_TOOLS_TRAINFLAGS_H

#include "Commands.h"

#include "mp-opt/API/Trainer.h"
#include "mp-opt/API/TrainingProgress.h"
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
  /// 0 for what a launcher has started.
  uint64_t numRanks = 0;
  double timeout = RanksOptions().timeout;
  std::string wire = "fp32", shard = "none";
  DeviceCollectives collectives = DeviceCollectives::Auto;

  /// An exit code if the run is over.
  std::optional<int> parse(Arguments arguments,
                           mlir::DialectRegistry &registry);
  /// Fails if something could not be written that the run will write.
  llvm::Error checkPaths() const;

  /// The other processes of a launcher, which `launch` tells of; null for none.
  llvm::Expected<std::unique_ptr<Ranks>> join(const Launch &launch) const;
  /// Of a rank but the first: it prints and writes nothing.
  void beQuiet();

  /// Absent for none.
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
