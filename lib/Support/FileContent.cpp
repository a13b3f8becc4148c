//===- FileContent.cpp - Files made block by block in parallel ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/FileContent.h"

#include "mp-opt/Support/ContentHash.h"

#include "llvm/Support/MathExtras.h"

#include <atomic>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;

namespace mp {

static constexpr uint64_t blockSize = ContentHash::blockSize;

void FileContent::append(StringRef bytes) {
  append(bytes.size(), [bytes](uint64_t begin, MutableArrayRef<char> to) {
    memcpy(to.data(), bytes.data() + begin, to.size());
  });
}

void FileContent::append(uint64_t added, MakeFn make) {
  if (added)
    pieces.push_back({size, size + added, std::move(make)});
  size += added;
}

void FileContent::padTo(uint64_t newSize) {
  if (newSize > size)
    append(newSize - size, nullptr);
}

void FileContent::read(uint64_t begin, MutableArrayRef<char> to) const {
  const auto *piece = llvm::partition_point(
      ArrayRef(pieces), [&](const Piece &item) { return item.end <= begin; });
  for (; !to.empty(); ++piece) {
    size_t count = std::min<uint64_t>(to.size(), piece->end - begin);
    if (piece->make)
      piece->make(begin - piece->begin, to.take_front(count));
    else
      memset(to.data(), 0, count);
    begin += count;
    to = to.drop_front(count);
  }
}

/// Writes all of `bytes` at `offset`; returns the number of the error, or 0.
static int writeAt(int descriptor, uint64_t offset, ArrayRef<char> bytes) {
  while (!bytes.empty()) {
    ssize_t written =
        ::pwrite(descriptor, bytes.data(), bytes.size(), off_t(offset));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return errno;
    // Writing zero bytes without an error would loop forever.
    if (written == 0)
      return ENOSPC;
    offset += uint64_t(written);
    bytes = bytes.drop_front(size_t(written));
  }
  return 0;
}

Expected<uint64_t> writeContent(const FileContent &content, AtomicFile &file,
                                ForEachFn forEach) {
  auto descriptor = file.setLength(content.getSize());
  if (!descriptor)
    return descriptor.takeError();
  std::vector<uint64_t> hashes(divideCeil(content.getSize(), blockSize));
  std::atomic<int> error = 0;
  forEach(hashes.size(), [&](size_t index) {
    if (error)
      return;
    uint64_t begin = index * blockSize;
    size_t count = std::min(blockSize, content.getSize() - begin);
    std::unique_ptr<char[]> block(new char[count]);
    content.read(begin, {block.get(), count});
    hashes[index] = ContentHash::hashBlock({block.get(), count});
    if (int failed = writeAt(*descriptor, begin, {block.get(), count}))
      error = failed;
    // Writing may start while the next blocks are made.
    else if (count == blockSize)
      ::sync_file_range(*descriptor, off_t(begin), off_t(count),
                        SYNC_FILE_RANGE_WRITE);
  });
  if (error)
    return file.fail(std::error_code(error, std::generic_category()));
  return ContentHash::combine(hashes);
}

void printContent(const FileContent &content, raw_ostream &os) {
  std::vector<char> block(std::min(blockSize, content.getSize()));
  for (uint64_t begin = 0; begin < content.getSize(); begin += blockSize) {
    MutableArrayRef<char> part(block.data(),
                               std::min(blockSize, content.getSize() - begin));
    content.read(begin, part);
    os.write(part.data(), part.size());
  }
}

} // namespace mp
