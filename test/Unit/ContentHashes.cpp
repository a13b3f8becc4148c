//===- ContentHashes.cpp - One hash however bytes come --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The name of a data file depends on its bytes alone: not on the pieces that
// they are written in, nor on whether they are hashed in a stream or by block.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/ContentHash.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mp;

static std::string makeBytes(size_t size) {
  std::string bytes(size, '\0');
  uint64_t state = 1;
  for (char &byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = char(state >> 56);
  }
  return bytes;
}

static uint64_t hashBlocks(llvm::StringRef bytes) {
  std::vector<uint64_t> hashes;
  for (; !bytes.empty();
       bytes = bytes.drop_front(std::min(bytes.size(), ContentHash::blockSize)))
    hashes.push_back(
        ContentHash::hashBlock(bytes.take_front(ContentHash::blockSize)));
  return ContentHash::combine(hashes);
}

static uint64_t hashStream(llvm::StringRef bytes, size_t piece,
                           std::string &copy) {
  llvm::raw_string_ostream os(copy);
  HashingStream stream(os);
  for (; !bytes.empty();
       bytes = bytes.drop_front(std::min(bytes.size(), piece)))
    stream << bytes.take_front(piece);
  return stream.finish();
}

int main() {
  constexpr size_t block = ContentHash::blockSize;
  std::vector<uint64_t> all;
  unsigned failures = 0, checks = 0;
  for (size_t size : {size_t(0), size_t(1), block - 1, block, block + 1,
                      2 * block, 3 * block + 12345}) {
    std::string bytes = makeBytes(size);
    uint64_t expected = hashBlocks(bytes);
    for (size_t piece :
         {size_t(1000), size_t(65536), block - 1, block, 5 * block}) {
      std::string copy;
      failures += hashStream(bytes, piece, copy) != expected || copy != bytes;
      ++checks;
    }
    all.push_back(expected);
    // One bit more or less is another content.
    if (size) {
      bytes.back() ^= 1;
      all.push_back(hashBlocks(bytes));
    }
  }
  llvm::sort(all);
  failures += std::adjacent_find(all.begin(), all.end()) != all.end();
  llvm::outs() << checks << " streams of " << all.size() << " contents, "
               << failures << " failures\n";
  return failures ? 1 : 0;
}
