//===- FileCache.h - A folder of files that may go --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_FILECACHE_H
#define MPOPT_SUPPORT_FILECACHE_H

#include "mp-opt/Support/Directory.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace mp {

/// What the file `name` in a folder of kept files holds; it counts as used.
/// Null if there is none. A link, and what is not a regular file of at most
/// `limit` bytes that this user alone can write, is not read but removed: it is
/// nothing that was kept.
std::unique_ptr<llvm::MemoryBuffer>
readKeptFile(const Directory &folder, llvm::StringRef name, uint64_t limit);

/// Files under names that say what is in them, up to so many bytes in all: what
/// was not used for the longest time goes first. Any number of processes use
/// one folder at once. A file has its name when it is complete; no file is
/// synced, so that after a power cut one may have any content. What is in a
/// file that others than this user could write is not read. Files with other
/// names stay as they are and do not count.
class FileCache {
public:
  /// Of the files in `folder` that end with `suffix`, for at most `limit`
  /// bytes. The folder is made if it is not there; fails where others could
  /// write to it (CacheFolder.h).
  static llvm::Expected<FileCache> open(llvm::StringRef folder,
                                        llvm::StringRef suffix, uint64_t limit);

  /// What is kept as `key`, lower-case hexadecimal digits; null if nothing is.
  /// It counts as used.
  std::unique_ptr<llvm::MemoryBuffer> find(llvm::StringRef key) const;

  /// Keeps `parts`, one after the other, as `key`, unless that is there.
  /// Success if it is not kept because it is too big, or another process has
  /// been busy here for too long.
  llvm::Error store(llvm::StringRef key,
                    llvm::ArrayRef<llvm::StringRef> parts) const;

  void remove(llvm::StringRef key) const;

private:
  FileCache(Directory folder, llvm::StringRef suffix, uint64_t limit)
      : folder(std::move(folder)), suffix(suffix), limit(limit) {}
  std::string getName(llvm::StringRef key) const;
  bool isOwn(llvm::StringRef name) const;
  void makeRoom(uint64_t bytes) const;
  std::error_code write(llvm::StringRef name,
                        llvm::ArrayRef<llvm::StringRef> parts) const;

  Directory folder;
  std::string suffix;
  uint64_t limit;
};

} // namespace mp

#endif // MPOPT_SUPPORT_FILECACHE_H
