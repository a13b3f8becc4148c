//===- ContentHash.cpp - Names made of content ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/ContentHash.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace mp {

uint64_t ContentHash::hashBlock(StringRef block) { return xxh3_64bits(block); }

uint64_t ContentHash::combine(ArrayRef<uint64_t> blocks) {
  std::string bytes(blocks.size() * sizeof(uint64_t), '\0');
  for (size_t i = 0; i < blocks.size(); ++i)
    support::endian::write64le(&bytes[i * sizeof(uint64_t)], blocks[i]);
  return xxh3_64bits(StringRef(bytes));
}

} // namespace mp
