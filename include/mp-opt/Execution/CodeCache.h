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
  /// Without one, `code` in the user's cache folder.
  std::string folder;
  /// Bytes of all code that is kept. A model of many layers has 10 to 30 MB,
  /// and this is a tenth of what small home folders have.
  uint64_t limit = uint64_t(1) << 30;

  /// What `--cache=FLAG` asks for - on, off, or a folder with a slash in its
  /// name - and, where it does not, what MPOPT_CACHE_DIR and MPOPT_CACHE_SIZE
  /// do. An error says what was expected.
  static llvm::Expected<CodeCacheOptions> parse(llvm::StringRef flag);
};

/// Code by hashes of all that it is made from. It is machine code that will
/// run: what others than the user could have written is never read.
class CodeCache {
public:
  /// Hexadecimal digits.
  using Key = std::string;

  /// Warnings are printed as those of `tool`, if that is not empty. Nothing is
  /// opened before the first use.
  CodeCache(CodeCacheOptions options, llvm::StringRef tool);

  /// False if it is off, or where no code can be kept, of which there is one
  /// warning.
  bool isOpen();

  /// For code of a model, and all else that it depends on: `settings` is what
  /// the caller knows of that; the processor and this build of the program are
  /// added.
  static Key makeKey(const ModelContent &content, llvm::StringRef settings);

  /// Absent where there is none. What is damaged or of another version is gone
  /// then.
  std::optional<ProgramCode> find(const Key &key, const ModelContent &content);
  /// Says once if that is not possible.
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
