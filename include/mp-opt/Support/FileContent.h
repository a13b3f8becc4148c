//===- FileContent.h - Files made block by block, side by side --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Big files consist of weights that are converted while they are written. A
// FileContent says what belongs where; any thread can make any block of it, so
// that conversion keeps up with the disk and never holds more than a block for
// each thread.
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
  /// Makes the bytes of a piece from `begin` on, as many as `to` has. Called
  /// by several threads at once.
  using MakeFn =
      std::function<void(uint64_t begin, llvm::MutableArrayRef<char> to)>;

  /// Bytes that stay where they are as long as this object is in use.
  void append(llvm::StringRef bytes);
  void append(uint64_t size, MakeFn make);
  /// Zeros up to `size` bytes in all.
  void padTo(uint64_t size);

  uint64_t getSize() const { return size; }
  bool empty() const { return size == 0; }

  /// The bytes from `begin` on, as many as `to` has. Thread-safe.
  void read(uint64_t begin, llvm::MutableArrayRef<char> to) const;

private:
  struct Piece {
    uint64_t begin;
    uint64_t end;
    /// Without it, zeros.
    MakeFn make;
  };
  std::vector<Piece> pieces;
  uint64_t size = 0;
};

/// Calls `body` for 0 to `count` - 1, in any order, perhaps side by side.
using ForEachFn = llvm::function_ref<void(
    size_t count, llvm::function_ref<void(size_t)> body)>;

/// Gives `file` this content, which is all that it gets, and returns its hash
/// (ContentHash.h).
llvm::Expected<uint64_t> writeContent(const FileContent &content,
                                      AtomicFile &file, ForEachFn forEach);

/// Prints it, one block after the other.
void printContent(const FileContent &content, llvm::raw_ostream &os);

} // namespace mp

#endif // MPOPT_SUPPORT_FILECONTENT_H
