//===- ContentHash.h - Names made of content --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The hash of a file is XXH3 over the XXH3 hashes of its blocks, so that blocks
// may be hashed in any order or in parallel. It distinguishes contents that
// were not made to collide; it is not a cryptographic hash.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_CONTENTHASH_H
#define MPOPT_SUPPORT_CONTENTHASH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace mp {

class ContentHash {
public:
  /// Bytes of every block but the last.
  static constexpr size_t blockSize = 1 << 20;

  static uint64_t hashBlock(llvm::StringRef block);
  /// Combines the hashes of the content's blocks.
  static uint64_t combine(llvm::ArrayRef<uint64_t> blocks);
};

} // namespace mp

#endif // MPOPT_SUPPORT_CONTENTHASH_H
