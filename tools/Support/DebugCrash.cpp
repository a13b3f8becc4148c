//===- DebugCrash.cpp - Bugs on purpose -----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DebugCrash.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <sys/resource.h>
#include <vector>

namespace mp {

/// Recurses `depth` times, which needs more stack than the process has.
[[gnu::noinline]] static int exhaustStack(int depth) {
  volatile char frame[1024];
  memset(const_cast<char *>(frame), depth, sizeof(frame));
  if (depth == 0)
    return frame[0];
  return exhaustStack(depth - 1) + frame[sizeof(frame) - 1];
}

/// Exhausts the memory that this process may have, not that of the machine.
static void exhaustMemory() {
  constexpr size_t piece = size_t(1) << 20, bound = size_t(1) << 30;
  rlimit limit;
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, bound);
  ::setrlimit(RLIMIT_AS, &limit);
  std::vector<std::unique_ptr<char[]>> pieces;
  for (size_t size = 0; size < bound; size += piece)
    pieces.emplace_back(new char[piece]); // never touched
}

static void writeToNull() {
  volatile int *volatile nowhere = nullptr;
  *nowhere = 1;
}

static constexpr std::pair<llvm::StringLiteral, void (*)()> crashes[] = {
    {"", writeToNull},
    {"segv", writeToNull},
    {"bus", [] { ::raise(SIGBUS); }},
    {"fpe", [] { ::raise(SIGFPE); }},
    {"ill", [] { ::raise(SIGILL); }},
    {"abort", [] { ::abort(); }},
    {"terminate", [] { std::terminate(); }},
    {"fatal", [] { llvm::report_fatal_error("a fatal error on purpose"); }},
    {"stack", [] { exhaustStack(1 << 30); }},
    {"oom", exhaustMemory},
};

bool isCrashKind(llvm::StringRef kind) {
  return llvm::is_contained(llvm::make_first_range(crashes), kind);
}

void crashOnPurpose(llvm::StringRef kind) {
  for (auto [name, crash] : crashes)
    if (name == kind)
      crash();
  // No crash returns.
  ::abort();
}

} // namespace mp
