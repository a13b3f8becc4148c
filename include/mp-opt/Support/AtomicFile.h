//===- AtomicFile.h - Output files that are whole or not there --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_ATOMICFILE_H
#define MPOPT_SUPPORT_ATOMICFILE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>

namespace mp {

/// A file written under a temporary name beside its target. `commit` syncs it
/// and renames it over the target; without commit nothing remains and an
/// older target stays as it was. A signal that ends the process removes the
/// temporary. Targets that are no regular files are written to directly.
class AtomicFile {
public:
  static llvm::Expected<std::unique_ptr<AtomicFile>>
  create(llvm::StringRef path);
  ~AtomicFile();

  llvm::raw_ostream &os() { return *stream; }

  /// Writes what is buffered and syncs; the target is still untouched.
  llvm::Error finish();
  /// Makes a finished file the target.
  llvm::Error commit();

private:
  AtomicFile() = default;
  llvm::Error fail(std::error_code error) const;

  std::string path;
  std::string temporary;
  int descriptor = -1;
  std::unique_ptr<llvm::raw_fd_ostream> stream;
};

/// Flushes standard output; fails if anything written to it got lost.
llvm::Error flushStandardOutput();

} // namespace mp

#endif // MPOPT_SUPPORT_ATOMICFILE_H
