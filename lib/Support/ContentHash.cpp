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

void ContentHash::update(StringRef bytes) {
  while (!bytes.empty()) {
    if (rest.empty() && bytes.size() >= blockSize) {
      blocks.push_back(hashBlock(bytes.take_front(blockSize)));
      bytes = bytes.drop_front(blockSize);
      continue;
    }
    StringRef part = bytes.take_front(blockSize - rest.size());
    rest += part;
    bytes = bytes.drop_front(part.size());
    if (rest.size() == blockSize) {
      blocks.push_back(hashBlock(rest));
      rest.clear();
    }
  }
}

uint64_t ContentHash::finish() const {
  std::vector<uint64_t> all = blocks;
  if (!rest.empty())
    all.push_back(hashBlock(rest));
  return combine(all);
}

void HashingStream::write_impl(const char *bytes, size_t size) {
  hash.update(StringRef(bytes, size));
  to.write(bytes, size);
  position += size;
}

} // namespace mp
