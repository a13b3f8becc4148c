//===- CheckpointLock.cpp - One run for a checkpoint folder ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lock is a flock on a file rather than on the folder, since NFS locks only
// files that are open for writing. The holder removes the file before it
// unlocks. A process that finds its opened file removed opens the next one.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Data/CheckpointLock.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
namespace fs = llvm::sys::fs;

namespace mp {

static constexpr StringLiteral lockName = "lock";

CheckpointLock &CheckpointLock::operator=(CheckpointLock &&other) {
  release();
  path = std::move(other.path);
  file = std::move(other.file);
  made = std::exchange(other.made, {});
  return *this;
}

void CheckpointLock::release() {
  if (file.isOpen())
    ::unlink(path.c_str());
  file.close();
  for (const std::string &folder : made)
    ::rmdir(folder.c_str());
  made.clear();
}

/// "process 12 on host", as the holder has written it, or as far as that is
/// known.
static std::string readHolder(int file) {
  char text[HOST_NAME_MAX + 32];
  ssize_t size = ::pread(file, text, sizeof(text), 0);
  auto [process, host] = StringRef(text, size > 0 ? size_t(size) : 0)
                             .take_until([](char c) { return c == '\n'; })
                             .split(' ');
  bool isWhole = !process.empty() && !host.empty() &&
                 all_of(process, isDigit) && all_of(host, [](char c) {
                   return isAlnum(c) || c == '-' || c == '.' || c == '_';
                 });
  if (!isWhole)
    return "another process";
  return ("process " + process + " on " + host).str();
}

static void writeHolder(int file) {
  char host[HOST_NAME_MAX + 1] = "";
  ::gethostname(host, sizeof(host) - 1);
  std::string text = std::to_string(::getpid()) + " " + host + "\n";
  // The content is used for a message only.
  if (::ftruncate(file, 0) ||
      ::pwrite(file, text.data(), text.size(), 0) != ssize_t(text.size()))
    return;
}

/// Opens the file of the lock, which may belong to another user.
static Descriptor openLock(const std::string &path) {
  int flags = O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  int number = ::open(path.c_str(), flags | O_RDWR, 0666);
  if (number < 0 && (errno == EACCES || errno == EPERM))
    number = ::open(path.c_str(), (flags & ~O_CREAT) | O_RDONLY);
  return Descriptor(number);
}

/// True if `path` still refers to the open file.
static bool isThere(const std::string &path, const struct stat &open) {
  struct stat status;
  return !::lstat(path.c_str(), &status) &&
         FileIdentity(status) == FileIdentity(open);
}

/// Folders that `path` lacks, the innermost first.
static std::vector<std::string> findMissing(StringRef path) {
  std::vector<std::string> missing;
  for (; !path.empty() && !fs::exists(path);
       path = sys::path::parent_path(path))
    missing.push_back(path.str());
  return missing;
}

/// Locks `file`. Returns the code of a system error, if any; fails, naming the
/// holder, if another process has the lock.
static Expected<std::error_code> tryLock(StringRef folder, int file) {
  if (!sys::RetryAfterSignal(-1, ::flock, file, LOCK_EX | LOCK_NB))
    return std::error_code();
  if (errno != EWOULDBLOCK)
    return errnoAsErrorCode();
  return createStringError(folder + ": is in use by " + readHolder(file) +
                           "; wait for its end, or use another folder");
}

Expected<CheckpointLock> CheckpointLock::take(StringRef folder, WarnFn warn) {
  CheckpointLock lock;
  lock.path = (folder + "/" + lockName).str();
  std::vector<std::string> missing = findMissing(folder);
  std::string why = "its file is removed again and again";
  constexpr int maxTries = 100;
  for (int tries = 0; tries < maxTries; ++tries) {
    if (std::error_code error = fs::create_directories(
            folder, /*IgnoreExisting=*/true, fs::all_all))
      return createStringError("cannot make the folder '" + folder +
                               "': " + error.message());
    Descriptor file = openLock(lock.path);
    struct stat status;
    if (!file.isOpen() && errno == ENOENT)
      continue;
    why = errnoAsErrorCode().message();
    if (!file.isOpen() || ::fstat(file.get(), &status))
      break;
    why = "'" + lock.path + "' is not a regular file";
    if (!S_ISREG(status.st_mode))
      break;
    Expected<std::error_code> failed = tryLock(folder, file.get());
    if (!failed)
      return failed.takeError();
    why = failed->message();
    if (*failed)
      break;
    if (!isThere(lock.path, status))
      continue;
    writeHolder(file.get());
    lock.file = std::move(file);
    lock.made = std::move(missing);
    return std::move(lock);
  }
  warn(folder + ": cannot be locked: " + why +
       "; a second run with this folder would not be noticed");
  return std::move(lock);
}

} // namespace mp
