//===- Watchdog.cpp - A time limit for operations -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Watchdog.h"

#include "mp-opt/Collectives/ProcessGroup.h"

#include <cstdio>
#include <unistd.h>

namespace mp {

Watchdog::Watchdog(double limit, std::string who)
    : limit(limit), who(std::move(who)) {
  if (limit > 0)
    thread = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void Watchdog::begin(std::string text) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    what = std::move(text);
    begun = Clock::now();
    isRunning = true;
  }
  changed.notify_all();
}

void Watchdog::end() {
  std::lock_guard<std::mutex> lock(mutex);
  isRunning = false;
}

void Watchdog::watch() {
  std::unique_lock<std::mutex> lock(mutex);
  auto most = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(limit));
  while (!isOver) {
    if (!isRunning) {
      changed.wait(lock);
      continue;
    }
    if (Clock::now() < begun + most) {
      changed.wait_until(lock, begun + most);
      continue;
    }
    std::fprintf(stderr,
                 "%s: no answer from other ranks for %g s (--timeout), in %s: "
                 "the run ends\n",
                 who.c_str(), limit, what.c_str());
    std::fflush(stderr);
    // No orderly exit is reliable here: MPI_Abort may also hang.
    _exit(exitTimedOut);
  }
}

} // namespace mp
