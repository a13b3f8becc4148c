//===- FileContent.h - Files made block by block in parallel ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Big files consist of weights that are converted while they are written. A
// FileContent describes the content of each range, and any thread can make any
// block of it. Conversion is therefore as fast as the disk, and holds no more
// than one block per thread in memory.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_FILECONTENT_H
#define MPOPT_SUPPORT_FILECONTENT_H

#include "mp-opt/Support/AtomicFile.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mp {

class FileContent {
public:
  /// Fills `to` with the bytes of a piece from `begin` on. Called by several
  /// threads concurrently.
  using MakeFn =
      std::function<void(uint64_t begin, llvm::MutableArrayRef<char> to)>;

  /// Appends bytes, which must outlive this object.
  void append(llvm::StringRef bytes);
  void append(uint64_t size, MakeFn make);
  /// Appends zeros up to `size` bytes in total.
  void padTo(uint64_t size);

  uint64_t getSize() const { return size; }
  bool empty() const { return size == 0; }

  /// Fills `to` with the bytes from `begin` on. Thread-safe.
  void read(uint64_t begin, llvm::MutableArrayRef<char> to) const;

private:
  struct Piece {
    uint64_t begin;
    uint64_t end;
    /// Makes the bytes; zeros if null.
    MakeFn make;
  };
  std::vector<Piece> pieces;
  uint64_t size = 0;
};

/// Calls `body` for 0 to `count` - 1, in any order, perhaps side by side.
using ForEachFn = llvm::function_ref<void(
    size_t count, llvm::function_ref<void(size_t)> body)>;

/// Writes the content to `file`, which must not get other content, and returns
/// its hash (ContentHash.h).
llvm::Expected<uint64_t> writeContent(const FileContent &content,
                                      AtomicFile &file, ForEachFn forEach);

/// Prints it, one block after the other.
void printContent(const FileContent &content, llvm::raw_ostream &os);

} // namespace mp

#endif // MPOPT_SUPPORT_FILECONTENT_H
