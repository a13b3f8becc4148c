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

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
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

/// Whether this process may use tile registers; Linux wants to be asked.
static bool mayUseTiles() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}

/// Whether a dot product of pairs takes less than two multiply-adds, by more
/// than what reading pairs instead of single numbers costs.
static bool arePairsFast() {
  /// The shortest of many calls: others had to share the processor.
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
// What has been found
//===----------------------------------------------------------------------===//

/// Empty where there is no folder for it.
static std::string getCachePath() {
  SmallString<128> folder(getCacheFolder());
  if (folder.empty() || sys::fs::create_directories(folder))
    return "";
  sys::path::append(folder, "kernels");
  return std::string(folder);
}

/// In lines of a processor and what is faster on it.
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

/// A file that cannot be written is no error: the next run measures again.
static void write(StringRef path, StringRef content) {
  auto file = AtomicFile::create(path);
  if (!file)
    return consumeError(file.takeError());
  (*file)->os() << content;
  if (Error failed = (*file)->finish())
    return consumeError(std::move(failed));
  consumeError((*file)->commit());
}

/// Of a processor with AVX-512.
static Products chooseProducts() {
  const StringMap<bool> &features = getFeatures();
  if (features.lookup("amx-bf16") && mayUseTiles())
    return Products::AMX;
  if (!features.lookup("avx512bf16"))
    return Products::Widen;
  StringRef processor = sys::getHostCPUName();
  std::string path = getCachePath(), content;
  auto findKnown = [&] {
    if (auto file = MemoryBuffer::getFile(path); file && !path.empty())
      content = (*file)->getBuffer().take_front(4096).str();
    return findProducts(content, processor);
  };
  if (auto known = findKnown())
    return *known;
  Products found = arePairsFast() ? Products::Dot : Products::Widen;
  // Of processes that measure at the same time, on a busy machine with other
  // results, the first decides: what is compiled is to be the same.
  if (auto known = findKnown())
    return *known;
  // What is damaged is not kept.
  if (!all_of(content, [](char c) { return isPrint(c) || c == '\n'; }) ||
      !StringRef(content).ends_with("\n"))
    content.clear();
  if (!path.empty())
    write(path, content + processor.str() + " " +
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
