//===- RunData.h - Checks the data of a run ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_TRAIN_RUNDATA_H
#define MPOPT_LIB_API_TRAIN_RUNDATA_H

#include "mp-opt/API/Train/DataPass.h"
#include "mp-opt/API/Train/TrainerOptions.h"
#include "mp-opt/Data/Checkpoint.h"

namespace mp {

/// The elements of a run's data: read once, in a thread, to be checked and
/// hashed.
class RunData {
public:
  /// All arguments must outlive this.
  RunData(const DataSet &data, const Batches &batches,
          const TrainerOptions &options)
      : path(data.path), version(data.version), batches(batches),
        options(options) {}

  /// Starts to read the data, whose elements have rules in the step `module`.
  void read(mlir::ModuleOp module);
  /// Fails if the data are not those of a checkpoint. Files that have not
  /// changed since then are not read again.
  llvm::Error check(const Checkpoint &checkpoint);
  /// Fails if the step cannot be trained on the data. Data that a checkpoint
  /// has recorded were judged before.
  llvm::Error judge() { return pass ? pass->check() : llvm::Error::success(); }
  /// The hashes by names. A run without checkpoints has none until it writes
  /// one after all.
  const DataAttributes &getHashes();
  const std::string &getVersion() const { return version; }

private:
  const std::string path, version;
  const Batches &batches;
  const TrainerOptions &options;
  /// Hashes of a checkpoint, if there is no pass over the data.
  DataAttributes known;
  std::unique_ptr<DataPass> pass;
};

} // namespace mp

#endif // MPOPT_LIB_API_TRAIN_RUNDATA_H
