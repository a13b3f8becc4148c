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

/// Reads the file `name` in a cache folder and marks it as used. Null if there
/// is none. Links, and files other than regular ones of at most `limit` bytes
/// that only this user can write, are removed and not read, since the cache
/// does not create such files.
std::unique_ptr<llvm::MemoryBuffer>
readKeptFile(const Directory &folder, llvm::StringRef name, uint64_t limit);

/// Stores files under names that identify their content, with a limit on the
/// total size; the least recently used files are removed first. Any number of
/// processes may use one folder at once. Files get their names when they are
/// complete. They are not synced, so they may have any content after a power
/// failure. Files that others than this user could write are not read. Files
/// with other names are ignored and do not count.
class FileCache {
public:
  /// Uses the files in `folder` that end with `suffix`, with a limit of `limit`
  /// bytes. The folder is created if necessary. Fails if others could write to
  /// it (CacheFolder.h).
  static llvm::Expected<FileCache> open(llvm::StringRef folder,
                                        llvm::StringRef suffix, uint64_t limit);

  /// Returns the content stored as `key`, lower-case hexadecimal digits, and
  /// marks it as used; null if there is none.
  std::unique_ptr<llvm::MemoryBuffer> find(llvm::StringRef key) const;

  /// Stores the concatenation of `parts` as `key`, unless it exists. Also
  /// succeeds if it is not stored because it is too big, or because another
  /// process has held the lock for too long.
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
