//===- ContentHash.h - Names made of content --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The hash of a file is XXH3 over the XXH3 hashes of its blocks, so that
// blocks may be hashed one after the other or side by side. It tells contents
// apart that nobody made to collide; it is no signature.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_CONTENTHASH_H
#define MPOPT_SUPPORT_CONTENTHASH_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mp {

class ContentHash {
public:
  /// Bytes of every block but the last.
  static constexpr size_t blockSize = 1 << 20;

  static uint64_t hashBlock(llvm::StringRef block);
  /// The hash of the content whose blocks have these hashes.
  static uint64_t combine(llvm::ArrayRef<uint64_t> blocks);

  /// The next bytes.
  void update(llvm::StringRef bytes);
  /// The hash of all bytes so far.
  uint64_t finish() const;

private:
  std::vector<uint64_t> blocks;
  /// Less than a block.
  std::string rest;
};

/// Passes bytes on to another stream and hashes them.
class HashingStream : public llvm::raw_ostream {
public:
  explicit HashingStream(llvm::raw_ostream &to) : to(to) {
    SetBufferSize(ContentHash::blockSize);
  }
  ~HashingStream() override { flush(); }

  uint64_t finish() {
    flush();
    return hash.finish();
  }

private:
  void write_impl(const char *bytes, size_t size) override;
  uint64_t current_pos() const override { return position; }

  llvm::raw_ostream &to;
  ContentHash hash;
  uint64_t position = 0;
};

} // namespace mp

#endif // MPOPT_SUPPORT_CONTENTHASH_H
