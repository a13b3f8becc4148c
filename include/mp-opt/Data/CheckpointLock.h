//===- CheckpointLock.h - One run for a checkpoint folder -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DATA_CHECKPOINTLOCK_H
#define MPOPT_DATA_CHECKPOINTLOCK_H

#include "mp-opt/Support/Directory.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mp {

/// Holds a checkpoint folder for one run. The kernel releases the lock when the
/// process ends in any way. `release` and the destructor remove the file `lock`
/// in the folder, which names the holder, and empty folders that were made for
/// it.
class CheckpointLock {
public:
  using WarnFn = llvm::function_ref<void(const llvm::Twine &warning)>;

  /// Holds nothing.
  CheckpointLock() = default;
  /// Makes the folder if it is not there. Fails if another process has the
  /// lock, naming it, or if the folder cannot be made; a file system that has
  /// no locks is a warning.
  static llvm::Expected<CheckpointLock> take(llvm::StringRef folder,
                                             WarnFn warn);

  CheckpointLock(CheckpointLock &&) = default;
  CheckpointLock &operator=(CheckpointLock &&other);
  ~CheckpointLock() { release(); }
  void release();

private:
  std::string path;
  Descriptor file;
  /// Folders that were made, the innermost first.
  std::vector<std::string> made;
};

} // namespace mp

#endif // MPOPT_DATA_CHECKPOINTLOCK_H
