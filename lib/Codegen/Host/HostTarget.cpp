//===- HostTarget.cpp - The processor that this runs on -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Host/HostTarget.h"

#include "HostLoops.h"
#include "mp-opt/Support/AtomicFile.h"
#include "mp-opt/Support/CacheFolder.h"
#include "mp-opt/Support/FileCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <chrono>

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace llvm;

namespace mp {

static const StringMap<bool> &getFeatures() {
  static const StringMap<bool> features = sys::getHostCPUFeatures();
  return features;
}

/// True if this process may use tile registers; Linux requires a request.
static bool mayUseTiles() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}

/// True if a dot product of pairs takes less time than two multiply-adds, by
/// more than the cost of reading pairs instead of single numbers.
static bool arePairsFast() {
  /// The time of the fastest of many calls: others had to share the processor.
  auto measure = [](const HostLoop &loop) {
    double best = 1e9;
    for (int call = 0; call < 20; ++call) {
      auto start = std::chrono::steady_clock::now();
      loop.function();
      std::chrono::duration<double> taken =
          std::chrono::steady_clock::now() - start;
      best = std::min(best, taken.count());
    }
    return best / loop.multiplyAdds;
  };
  HostLoop floats = getFloatLoop(InstructionSet::AVX512);
  HostLoop pairs = getNarrowLoop(Products::Dot);
  measure(floats);
  return pairs.function && measure(pairs) < 0.8 * measure(floats);
}

//===----------------------------------------------------------------------===//
// Cached results
//===----------------------------------------------------------------------===//

/// The name of the cache file.
static constexpr StringLiteral fileName = "kernels";

/// Absent if nothing can be cached.
static std::optional<Directory> openCache() {
  std::string path = getCacheFolder();
  if (path.empty() || sys::fs::create_directories(path))
    return std::nullopt;
  ErrorOr<Directory> folder = Directory::open(path);
  return folder ? std::optional<Directory>(*folder) : std::nullopt;
}

static std::string readCache(const std::optional<Directory> &folder) {
  constexpr uint64_t maxBytes = 4096;
  auto file = folder ? readKeptFile(*folder, fileName, maxBytes) : nullptr;
  return file ? file->getBuffer().str() : "";
}

/// Searches lines that consist of a processor and its faster products.
static std::optional<Products> findProducts(StringRef content,
                                            StringRef processor) {
  while (!content.empty()) {
    auto [line, rest] = content.split('\n');
    auto [name, word] = line.split(' ');
    std::optional<Products> products = symbolizeProducts(word);
    if (name == processor && products && *products != Products::AMX)
      return products;
    content = rest;
  }
  return std::nullopt;
}

/// A file that cannot be written is not an error: the next run measures again.
static void write(StringRef path, StringRef content) {
  auto file = AtomicFile::create(path);
  if (!file)
    return consumeError(file.takeError());
  (*file)->os() << content;
  if (Error failed = (*file)->finish())
    return consumeError(std::move(failed));
  if (Error failed = (*file)->commit())
    return consumeError(std::move(failed));
  // Files that others may write are not read, so they are made private whatever
  // the process's umask is.
  (void)sys::fs::setPermissions(path,
                                sys::fs::owner_read | sys::fs::owner_write);
}

/// Selects products for a processor with AVX-512.
static Products chooseProducts() {
  const StringMap<bool> &features = getFeatures();
  if (features.lookup("amx-bf16") && mayUseTiles())
    return Products::AMX;
  if (!features.lookup("avx512bf16"))
    return Products::Widen;
  StringRef processor = sys::getHostCPUName();
  std::optional<Directory> folder = openCache();
  std::string content;
  auto findKnown = [&] {
    content = readCache(folder);
    return findProducts(content, processor);
  };
  if (auto known = findKnown())
    return *known;
  Products found = arePairsFast() ? Products::Dot : Products::Widen;
  // If processes measure at the same time, on a busy machine with other
  // results, the first decides: they must compile the same code.
  if (auto known = findKnown())
    return *known;
  // Damaged content is not kept.
  if (!all_of(content, [](char c) { return isPrint(c) || c == '\n'; }) ||
      !StringRef(content).ends_with("\n"))
    content.clear();
  if (folder)
    write(folder->getPath(fileName), content + processor.str() + " " +
                                         stringifyProducts(found).str() + "\n");
  return found;
}

Expected<Target> getHostTarget(const KernelChoice &choice) {
  Triple triple(sys::getProcessTriple());
  auto isa = getInstructionSet(
      triple, [](StringRef feature) { return getFeatures().lookup(feature); });
  if (!isa)
    return createStringError("no code for " + triple.getArchName() +
                             ", expected x86-64 or aarch64");
  KernelChoice chosen = choice;
  if (!chosen.products && *isa == InstructionSet::AVX512) {
    static const Products fastest = chooseProducts();
    chosen.products = fastest;
  }
  return makeTarget(*isa, chosen);
}

} // namespace mp
