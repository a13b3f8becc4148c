//===- OutOfMemory.cpp - How a run without memory ends --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing here allocates or waits for a lock: the thread that has no memory may
// hold any lock.
//
//===----------------------------------------------------------------------===//

#include "OutOfMemory.h"
#include "ExitCodes.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <new>
#include <sys/mman.h>
#include <system_error>
#include <typeinfo>
#include <unistd.h>

using namespace llvm;

namespace mp {

bool isMemoryUsedUp() {
  // The probe is larger than most single allocations.
  constexpr size_t probe = size_t(16) << 20;
  void *memory = ::mmap(nullptr, probe, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return true;
  ::munmap(memory, probe);
  return false;
}

bool isLackOfMemory(const char *reason) {
  StringRef text(reason);
  return text.starts_with("pthread_create failed") ||
         text.contains_insensitive("out of memory") ||
         text.contains("Cannot allocate memory") ||
         (text.contains_insensitive("allocat") && isMemoryUsedUp());
}

bool isLackOfMemoryThrown() {
  const std::type_info *type = abi::__cxa_current_exception_type();
  // The C++ library cannot start threads without memory, either.
  return type && (*type == typeid(std::bad_alloc) ||
                  *type == typeid(std::bad_array_new_length) ||
                  *type == typeid(std::system_error));
}

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

void printDirectly(StringRef text) {
  while (!text.empty()) {
    ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0 && errno != EINTR)
      return;
    text = text.drop_front(size_t(std::max<ssize_t>(written, 0)));
  }
}

void claimEndOfRun() {
  static std::atomic<pid_t> owner{0};
  pid_t nobody = 0, self = ::gettid();
  if (owner.compare_exchange_strong(nobody, self))
    return;
  while (nobody != self)
    ::pause();
  ::_exit(exitInternal);
}

static const char *programName = "";

[[noreturn]] static void endProgram(const char *kind, const char *reason) {
  claimEndOfRun();
  char line[1024];
  size_t size = 0;
  for (const char *part : {programName, ": ", kind, reason, "\n"}) {
    size_t length = std::min(std::strlen(part), sizeof(line) - 1 - size);
    std::memcpy(line + size, part, length);
    size += length;
  }
  printDirectly({line, size});
  // Removes temporaries.
  sys::RunInterruptHandlers();
  ::_exit(exitInternal);
}

[[noreturn]] static void endWithoutMemory() {
  endProgram("error: ", "out of memory");
}

static constexpr int faults[] = {SIGSEGV, SIGBUS, SIGABRT, SIGTRAP, SIGILL};
static struct sigaction previousFaults[std::size(faults)];

/// Other faults are left to LLVM's handler.
static void handleFault(int signal) {
  if (isMemoryUsedUp())
    endWithoutMemory();
  for (size_t i = 0; i < std::size(faults); ++i)
    if (faults[i] == signal)
      ::sigaction(signal, &previousFaults[i], nullptr);
  ::raise(signal);
}

void installFatalErrorHandlers(const char *program) {
  programName = program;
  install_fatal_error_handler([](void *, const char *reason, bool) {
    if (isLackOfMemory(reason))
      endWithoutMemory();
    endProgram("internal error: ", reason);
  });
  install_bad_alloc_error_handler(
      [](void *, const char *, bool) { endWithoutMemory(); });
  std::set_terminate([] {
    if (isLackOfMemoryThrown() || isMemoryUsedUp())
      endWithoutMemory();
    endProgram("internal error: ", "uncaught exception");
  });
  struct sigaction action = {};
  action.sa_handler = handleFault;
  action.sa_flags = SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < std::size(faults); ++i)
    ::sigaction(faults[i], &action, &previousFaults[i]);
}

} // namespace mp
