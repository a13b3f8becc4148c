//===- CodeCache.h - Compiled code for later runs ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_CODECACHE_H
#define MPOPT_EXECUTION_CODECACHE_H

#include "mp-opt/Execution/ProgramCode.h"
#include "mp-opt/Support/FileCache.h"

#include <optional>
#include <string>

namespace mp {

struct CodeCacheOptions {
  bool isOn = true;
  /// The folder; if empty, `code` in the user's cache folder.
  std::string folder;
  /// The maximum size of all code in the cache. Models with many layers have 10
  /// to 30 MB, and the default is a tenth of a small home folder's quota.
  uint64_t limit = uint64_t(1) << 30;

  /// Parses the value of `--cache=FLAG`: on, off, or a folder with a slash in
  /// its name. MPOPT_CACHE_DIR and MPOPT_CACHE_SIZE are used where the flag
  /// gives no value. Fails with the expected values.
  static llvm::Expected<CodeCacheOptions> parse(llvm::StringRef flag);
};

/// Stores code under hashes of everything that it is made from. The code will
/// be executed, so files that other users could have written are never read.
class CodeCache {
public:
  /// A text of hexadecimal digits.
  using Key = std::string;

  /// Warnings are printed in the name of `tool`, if it is not empty. The folder
  /// is opened on first use.
  CodeCache(CodeCacheOptions options, llvm::StringRef tool);

  /// False if the cache is off or its folder cannot be used. The latter gives
  /// one warning.
  bool isOpen();

  /// The key for code of a model. `settings` describes all other inputs that
  /// the caller knows; the processor and the build of this program are added.
  static Key makeKey(const ModelContent &content, llvm::StringRef settings);

  /// Absent if there is no entry. Damaged entries and those of another version
  /// are removed.
  std::optional<ProgramCode> find(const Key &key, const ModelContent &content);
  /// Stores an entry. Warns once if that is not possible.
  void store(const Key &key, const ProgramCode &code, mlir::ModuleOp module,
             const ModelContent &content);
  void remove(const Key &key);

private:
  void warn(llvm::Error error);

  CodeCacheOptions options;
  std::string tool;
  std::optional<FileCache> files;
};

} // namespace mp

#endif // MPOPT_EXECUTION_CODECACHE_H
