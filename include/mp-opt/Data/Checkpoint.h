//===- Checkpoint.h - Training runs that can be taken up again --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of checkpoints has a folder for each:
//
//     step-0000000040/states.safetensors    what the step hands on
//     step-0000000040/manifest.json         everything else, and hashes
//
// Both files appear whole, the manifest last: without it there is no
// checkpoint. A run that is killed at any time leaves those that it had.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DATA_CHECKPOINT_H
#define MPOPT_DATA_CHECKPOINT_H

#include "mp-opt/Data/DataFiles.h"

namespace mp {

struct Checkpoint {
  /// Steps made so far; epochs finished, and batches of the current one.
  uint64_t step = 0, epoch = 0, position = 0;
  /// Of the model's file: getContentName.
  std::string model;
  /// What the run was told, by flags: seed, batch, learning rate, ...
  DataAttributes settings;
  /// BLAKE3 of the elements of each tensor that the run is trained on, by its
  /// name, and the version of their files (DataSet.h), empty if that is
  /// unknown. Checkpoints of older releases have neither.
  DataAttributes data;
  std::string dataVersion;
  /// Of the last step, and on validation data; absent where they are no
  /// numbers.
  std::optional<double> loss, validation;
  std::vector<NamedTensor> states;
};

/// BLAKE3 of bytes, in hexadecimal digits.
std::string getContentName(llvm::StringRef bytes);

class CheckpointFolder {
public:
  using WarnFn = llvm::function_ref<void(const llvm::Twine &warning)>;

  explicit CheckpointFolder(llvm::StringRef path) : path(path) {}

  /// True if the folder at `path` has a checkpoint, whole or not.
  static bool isOne(llvm::StringRef path) {
    return !CheckpointFolder(path).getSteps().empty();
  }

  /// The steps of those that have a manifest, newest first.
  std::vector<uint64_t> getSteps() const;

  /// Makes the folder, if need be, and adds a checkpoint; when that is safe on
  /// the disk, all but the newest `keep` are removed.
  llvm::Error write(const Checkpoint &checkpoint, unsigned keep) const;

  /// Fails, naming the file or the tensor, if anything differs from what was
  /// written.
  llvm::Expected<Checkpoint> read(uint64_t step) const;
  /// Fails if no checkpoint could be written, and changes nothing.
  llvm::Error checkWritable() const;

  /// The newest that is whole; those that are not are warned of.
  llvm::Expected<Checkpoint> readNewest(WarnFn warn) const;

private:
  std::string getFolder(uint64_t step) const;
  llvm::Error writeFiles(const Checkpoint &checkpoint) const;
  void remove(uint64_t step) const;

  std::string path;
};

} // namespace mp

#endif // MPOPT_DATA_CHECKPOINT_H
