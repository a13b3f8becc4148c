//===- Checkpoint.h - Training runs that can be taken up again --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of checkpoints contains one folder per checkpoint:
//
//     step-0000000040/states.safetensors    the states
//     step-0000000040/manifest.json         everything else, and hashes
//
// Both files are written atomically, the manifest last: a folder without it is
// not a checkpoint. A run that is killed at any time keeps its checkpoints.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DATA_CHECKPOINT_H
#define MPOPT_DATA_CHECKPOINT_H

#include "mp-opt/Data/DataFiles.h"

namespace mp {

struct Checkpoint {
  /// Steps made so far; epochs finished, and batches of the current one.
  uint64_t step = 0, epoch = 0, position = 0;
  /// The hash of the model's file, by getContentName.
  std::string model;
  /// Settings given by flags: seed, batch, learning rate, ...
  DataAttributes settings;
  /// BLAKE3 of the elements of each tensor that the run is trained on, by its
  /// name, and the version of their files (DataSet.h), empty if that is
  /// unknown. Checkpoints of older releases have neither.
  DataAttributes data;
  std::string dataVersion;
  /// The loss of the last step, and that on validation data; absent if not
  /// finite.
  std::optional<double> loss, validation;
  std::vector<NamedTensor> states;
};

/// Returns the BLAKE3 hash of bytes in hexadecimal digits.
std::string getContentName(llvm::StringRef bytes);

class CheckpointFolder {
public:
  using WarnFn = llvm::function_ref<void(const llvm::Twine &warning)>;

  explicit CheckpointFolder(llvm::StringRef path) : path(path) {}

  /// True if the folder at `path` has a checkpoint, whole or not.
  static bool isOne(llvm::StringRef path) {
    return !CheckpointFolder(path).getSteps().empty();
  }

  /// The steps of checkpoints with a manifest, newest first.
  std::vector<uint64_t> getSteps() const;

  /// Makes the folder, if need be, and adds a checkpoint; when that is safe on
  /// the disk, all but the newest `keep` are removed.
  llvm::Error write(const Checkpoint &checkpoint, unsigned keep) const;

  /// Fails, naming the file or the tensor, if anything has changed since it was
  /// written.
  llvm::Expected<Checkpoint> read(uint64_t step) const;
  /// Fails if no checkpoint could be written, and changes nothing.
  llvm::Error checkWritable() const;

  /// Reads the newest intact checkpoint. Warns of damaged ones.
  llvm::Expected<Checkpoint> readNewest(WarnFn warn) const;

private:
  std::string getFolder(uint64_t step) const;
  llvm::Error writeFiles(const Checkpoint &checkpoint) const;
  void remove(uint64_t step) const;

  std::string path;
};

} // namespace mp

#endif // MPOPT_DATA_CHECKPOINT_H
