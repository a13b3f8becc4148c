//===- ShellCommand.cpp - Commands of users -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/ShellCommand.h"

#include "mp-opt/Support/Directory.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using Clock = std::chrono::steady_clock;

namespace mp {

std::string quoteForShell(StringRef text) {
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string CommandEnd::describe() const {
  switch (kind) {
  case Exited:
    return "exit status " + std::to_string(status);
  case Signaled:
    return "signal " + std::to_string(status) + " (" + ::strsignal(status) +
           ")";
  case TimedOut:
    return "no answer in time";
  case Stopped:
    return "stopped";
  }
  return "";
}

static Error failToRun(const Twine &what, int code) {
  return createStringError(what + ": " + sys::StrError(code));
}

static constexpr size_t shownOutput = 4096;

static std::string readEnd(const std::string &path) {
  auto file = MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().take_back(shownOutput).str() : "";
}

namespace {
/// The settings of a new process, released with this object.
class SpawnSettings {
public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }

  /// Prepares a new group, default signals, no input, and output to a file.
  void prepare(int output) {
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null",
                                       O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes,
                               POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  }

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};
} // namespace

static Expected<pid_t> start(const std::string &command,
                             const std::string &outputFile) {
  int descriptor = ::open(outputFile.c_str(),
                          O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return failToRun(outputFile + ": cannot write it", errno);
  Descriptor output(descriptor);
  SpawnSettings settings;
  settings.prepare(descriptor);
  // Ends of children are lost if the parent process ignored them.
  ::signal(SIGCHLD, SIG_DFL);
  std::string text = command;
  char shell[] = "sh", flag[] = "-c";
  char *arguments[] = {shell, flag, text.data(), nullptr};
  pid_t child;
  int failed = ::posix_spawn(&child, "/bin/sh", &settings.files,
                             &settings.attributes, arguments, environ);
  if (failed)
    return failToRun("cannot start /bin/sh", failed);
  return child;
}

/// The status of a process at its end; absent if `isOver` became true before.
/// The pauses grow with the time that it takes, up to 20 ms.
static std::optional<int> waitFor(pid_t child, function_ref<bool()> isOver) {
  auto pause = std::chrono::microseconds(200);
  constexpr auto longest = std::chrono::microseconds(20000);
  int status = 0;
  while (true) {
    pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR))
      return status;
    if (isOver())
      return std::nullopt;
    std::this_thread::sleep_for(pause);
    pause = std::min(longest, pause * 5 / 4);
  }
}

Expected<CommandEnd> runShellCommand(const std::string &command,
                                     const CommandOptions &options) {
  Expected<pid_t> child = start(command, options.outputFile);
  if (!child)
    return child.takeError();
  auto end = Clock::now() + std::chrono::seconds(options.timeout);
  CommandEnd result;
  std::optional<int> status = waitFor(*child, [&] {
    if (options.isStopped && options.isStopped())
      result.kind = CommandEnd::Stopped;
    else if (options.timeout && Clock::now() >= end)
      result.kind = CommandEnd::TimedOut;
    return result.kind != CommandEnd::Exited;
  });
  if (!status) {
    ::kill(-*child, SIGKILL);
    ::waitpid(*child, nullptr, 0);
  } else if (WIFSIGNALED(*status))
    result = {CommandEnd::Signaled, WTERMSIG(*status), ""};
  else
    result = {CommandEnd::Exited, WEXITSTATUS(*status), ""};
  result.output = readEnd(options.outputFile);
  return result;
}

} // namespace mp
