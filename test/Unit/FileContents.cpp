//===- FileContents.cpp - Files made by several threads -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file and its hash depend on the content only: not on the pieces that it is
// made of, nor on the number of threads that make its blocks, nor on their
// order. This program is also built with the thread sanitizer.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/ContentHash.h"
#include "mp-opt/Support/FileContent.h"
#include "mp-opt/Support/Rounding.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <atomic>
#include <cstring>
#include <thread>

using namespace mp;

static constexpr size_t block = ContentHash::blockSize;

static std::vector<float> makeFloats(size_t count) {
  std::vector<float> values(count);
  uint32_t state = 1;
  for (float &value : values) {
    state = state * 1664525u + 1013904223u;
    value = float(int32_t(state)) * 0x1p-31f;
  }
  return values;
}

/// Weights that are rounded while they are made, between pieces of text that
/// put them on odd offsets.
static FileContent makeContent(llvm::ArrayRef<float> values, size_t pieces) {
  static const std::string text(3, 't');
  FileContent content;
  for (size_t i = 0; i < pieces; ++i) {
    llvm::ArrayRef<float> part =
        values.slice(i * (values.size() / pieces), values.size() / pieces);
    content.append(text);
    content.append(part.size() * 2, [part](uint64_t begin,
                                           llvm::MutableArrayRef<char> to) {
      std::vector<uint16_t> bits(part.size());
      roundToBFloat16(part, bits.data());
      memcpy(to.data(), reinterpret_cast<char *>(bits.data()) + begin,
             to.size());
    });
    content.padTo(llvm::alignTo(content.getSize(), 64));
  }
  return content;
}

static void onThreads(unsigned threads, size_t count,
                      llvm::function_ref<void(size_t)> body) {
  std::atomic<size_t> next = 0;
  std::vector<std::thread> running;
  for (unsigned i = 0; i < threads; ++i)
    running.emplace_back([&] {
      for (size_t index; (index = next++) < count;)
        body(index);
    });
  for (std::thread &thread : running)
    thread.join();
}

static uint64_t hashWhole(llvm::StringRef bytes) {
  std::vector<uint64_t> hashes;
  for (; !bytes.empty();
       bytes = bytes.drop_front(std::min(bytes.size(), block)))
    hashes.push_back(ContentHash::hashBlock(bytes.take_front(block)));
  return ContentHash::combine(hashes);
}

/// The number of failures.
static unsigned check(const FileContent &content, llvm::StringRef path) {
  std::string expected;
  llvm::raw_string_ostream os(expected);
  printContent(content, os);
  unsigned failures = expected.size() != content.getSize();
  for (unsigned threads : {1u, 2u, 8u}) {
    auto file = llvm::cantFail(AtomicFile::create(path));
    uint64_t hash = llvm::cantFail(
        writeContent(content, *file, [&](size_t count, auto body) {
          onThreads(threads, count, body);
        }));
    llvm::cantFail(file->finish());
    llvm::cantFail(file->commit());
    auto written = llvm::MemoryBuffer::getFile(path, false, false);
    failures += !written || (*written)->getBuffer() != expected;
    failures += hash != hashWhole(expected);
  }
  for (size_t begin = 0; begin < expected.size(); begin += block / 3 + 1) {
    std::string part(std::min<size_t>(1001, expected.size() - begin), 'x');
    content.read(begin, {part.data(), part.size()});
    failures += part != llvm::StringRef(expected).substr(begin, part.size());
  }
  return failures;
}

int main() {
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("file-contents", "", path))
    return 1;
  std::vector<float> values = makeFloats(3 * block / 2);
  unsigned failures = 0, checks = 0;
  for (size_t pieces : {1, 7, 100}) {
    for (size_t count : {size_t(0), size_t(100), block / 2, values.size()}) {
      FileContent content =
          makeContent(llvm::ArrayRef(values).take_front(count), pieces);
      failures += check(content, path);
      ++checks;
    }
  }
  llvm::sys::fs::remove(path);
  llvm::outs() << checks << " contents on 1, 2 and 8 threads, " << failures
               << " failures\n";
  return failures ? 1 : 0;
}
