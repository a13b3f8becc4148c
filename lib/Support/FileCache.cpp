//===- FileCache.cpp - A folder of files that may go ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writers lock the folder, so that the size limit holds for any number of
// processes. Readers need no lock: files appear completely, and open files do
// not change. A file that is being written has no name if the file system
// supports that; otherwise it has a temporary name and is locked.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/FileCache.h"

#include "TemporaryNames.h"
#include "mp-opt/Support/CacheFolder.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

using namespace llvm;

namespace mp {

/// Part of the names of incomplete files.
static constexpr StringLiteral temporaryBase = "kept";

Expected<FileCache> FileCache::open(StringRef path, StringRef suffix,
                                    uint64_t limit) {
  Expected<Directory> folder = openPrivateFolder(path);
  if (!folder)
    return folder.takeError();
  return FileCache(std::move(*folder), suffix, limit);
}

std::string FileCache::getName(StringRef key) const {
  return (key + suffix).str();
}

void FileCache::remove(StringRef key) const {
  ::unlinkat(folder.get(), getName(key).c_str(), 0);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Reads a whole file without mapping it, so that its content cannot change
/// later. Null if that fails or the file is shorter than `size`.
static std::unique_ptr<MemoryBuffer> readAll(int file, uint64_t size) {
  auto buffer = WritableMemoryBuffer::getNewUninitMemBuffer(size);
  if (!buffer)
    return nullptr;
  uint64_t done = 0;
  while (done < size) {
    ssize_t count = sys::RetryAfterSignal(
        -1, ::read, file, buffer->getBufferStart() + done, size_t(size - done));
    if (count <= 0)
      return nullptr;
    done += uint64_t(count);
  }
  return buffer;
}

std::unique_ptr<MemoryBuffer> readKeptFile(const Directory &folder,
                                           StringRef name, uint64_t limit) {
  ErrorOr<Descriptor> file = folder.openFile(name);
  struct stat status;
  auto remove = [&] {
    ::unlinkat(folder.get(), name.str().c_str(), 0);
    return nullptr;
  };
  if (!file) {
    // The name is taken by a link or by an unreadable file.
    bool isInTheWay =
        file.getError() == std::errc::too_many_symbolic_link_levels ||
        file.getError() == std::errc::permission_denied;
    return isInTheWay ? remove() : nullptr;
  }
  if (::fstat(file->get(), &status) || !isPrivateFile(status) ||
      uint64_t(status.st_size) > limit)
    return remove();
  auto content = readAll(file->get(), uint64_t(status.st_size));
  if (content)
    ::futimens(file->get(), nullptr);
  return content;
}

std::unique_ptr<MemoryBuffer> FileCache::find(StringRef key) const {
  return readKeptFile(folder, getName(key), limit);
}

//===----------------------------------------------------------------------===//
// Room
//===----------------------------------------------------------------------===//

bool FileCache::isOwn(StringRef name) const {
  return name.consume_back(suffix) && !name.empty() &&
         all_of(name, [](char c) { return isHexDigit(c) && !isUpper(c); });
}

namespace {
struct KeptFile {
  std::string name;
  uint64_t bytes;
  timespec used;

  bool operator<(const KeptFile &other) const {
    return std::tie(used.tv_sec, used.tv_nsec, name) <
           std::tie(other.used.tv_sec, other.used.tv_nsec, other.name);
  }
};
} // namespace

static uint64_t getBytes(const struct stat &status) {
  return std::max(uint64_t(status.st_blocks) * 512, uint64_t(status.st_size));
}

/// Removes files until another one of `bytes` bytes fits.
void FileCache::makeRoom(uint64_t bytes) const {
  removeLeftovers(folder, temporaryBase, nullptr);
  ErrorOr<std::vector<std::string>> names = folder.list();
  if (!names)
    return;
  std::vector<KeptFile> files;
  uint64_t sum = bytes;
  for (const std::string &name : *names) {
    bool isTemporary = isTemporaryName(name, temporaryBase, folder.get());
    struct stat status;
    if ((!isTemporary && !isOwn(name)) ||
        ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) ||
        S_ISDIR(status.st_mode))
      continue;
    sum += getBytes(status);
    if (!isTemporary)
      files.push_back({name, getBytes(status), status.st_mtim});
  }
  llvm::sort(files);
  for (const KeptFile &file : files) {
    if (sum <= limit)
      return;
    ::unlinkat(folder.get(), file.name.c_str(), 0);
    sum -= file.bytes;
  }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::error_code writeAll(int file, ArrayRef<StringRef> parts) {
  for (StringRef part : parts)
    while (!part.empty()) {
      ssize_t count =
          sys::RetryAfterSignal(-1, ::write, file, part.data(), part.size());
      if (count < 0)
        return errnoAsErrorCode();
      part = part.drop_front(size_t(count));
    }
  return {};
}

std::error_code FileCache::write(StringRef name,
                                 ArrayRef<StringRef> parts) const {
  std::string temporary;
  Descriptor file(::openat(folder.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC,
                           S_IRUSR | S_IWUSR));
  std::string proc = "/proc/self/fd/" + std::to_string(file.get());
  if (!file.isOpen() || ::access(proc.c_str(), F_OK)) {
    temporary = makeTemporaryName(temporaryBase, folder.get());
    file = Descriptor(
        ::openat(folder.get(), temporary.c_str(),
                 O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC,
                 S_IRUSR | S_IWUSR));
    if (!file.isOpen())
      return errnoAsErrorCode();
    ::flock(file.get(), LOCK_EX | LOCK_NB);
  }
  std::error_code error = writeAll(file.get(), parts);
  int failed = 0;
  if (!error && temporary.empty())
    failed = ::linkat(AT_FDCWD, proc.c_str(), folder.get(), name.str().c_str(),
                      AT_SYMLINK_FOLLOW);
  else if (!error)
    failed = ::renameat(folder.get(), temporary.c_str(), folder.get(),
                        name.str().c_str());
  // Another process has stored the same content in the meantime.
  if (failed && errno != EEXIST)
    error = errnoAsErrorCode();
  if (!temporary.empty() && (failed || error))
    ::unlinkat(folder.get(), temporary.c_str(), 0);
  return error;
}

/// Opens the folder and locks it; not open if other processes hold the lock for
/// too long.
static Descriptor lockFolder(const Directory &folder) {
  constexpr int tries = 100;
  constexpr useconds_t pause = 20000;
  Descriptor lock(
      ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int count = 0; lock.isOpen() && count < tries; ++count) {
    if (!::flock(lock.get(), LOCK_EX | LOCK_NB))
      return lock;
    if (errno != EWOULDBLOCK && errno != EINTR)
      break;
    ::usleep(pause);
  }
  return Descriptor();
}

Error FileCache::store(StringRef key, ArrayRef<StringRef> parts) const {
  // The size of a file is rounded up to blocks.
  uint64_t bytes = 1 << 12;
  for (StringRef part : parts)
    bytes += part.size();
  Descriptor lock = bytes <= limit ? lockFolder(folder) : Descriptor();
  if (!lock.isOpen())
    return Error::success();
  makeRoom(bytes);
  std::string name = getName(key);
  if (std::error_code error = write(name, parts))
    return createStringError("cannot write '" + folder.getPath(name) +
                             "': " + error.message());
  return Error::success();
}

} // namespace mp
