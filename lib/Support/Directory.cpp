//===- Directory.cpp - Files below a folder, and nowhere else -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Uses openat2 if the kernel has it (Linux 5.6) and no sandbox forbids it.
// Otherwise uses one openat per path component, each of which refuses links.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/Directory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

Descriptor &Descriptor::operator=(Descriptor &&other) {
  close();
  number = other.release();
  return *this;
}

void Descriptor::close() {
  if (int open = release(); open >= 0)
    ::close(open);
}

int Descriptor::release() { return std::exchange(number, -1); }

FileIdentity::FileIdentity(const struct stat &status)
    : device(status.st_dev), inode(status.st_ino) {}

//===----------------------------------------------------------------------===//
// Below
//===----------------------------------------------------------------------===//

bool isBelow(StringRef name) {
  if (name.empty() || name.contains('\0') || sys::path::is_absolute(name))
    return false;
  return !llvm::is_contained(
      make_range(sys::path::begin(name), sys::path::end(name)), "..");
}

StringRef shortenName(StringRef name, size_t room) {
  auto isInside = [](char c) { return (uint8_t(c) & 0xc0) == 0x80; };
  if (name.size() <= room)
    return name;
  while (room && isInside(name[room]))
    --room;
  return name.take_front(room);
}

static ErrorOr<Descriptor> openAt(int folder, const std::string &name,
                                  int flags) {
  int number = sys::RetryAfterSignal(-1, ::openat, folder, name.c_str(),
                                     flags | O_NOFOLLOW | O_CLOEXEC);
  if (number >= 0)
    return Descriptor(number);
  int error = errno;
  // With O_DIRECTORY, a link gives ENOTDIR instead of ELOOP.
  struct stat status;
  if (error == ENOTDIR &&
      !::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) &&
      S_ISLNK(status.st_mode))
    error = ELOOP;
  return std::error_code(error, std::generic_category());
}

/// Absent if openat2 is not available.
static std::optional<ErrorOr<Descriptor>>
openBeneath(int folder, const std::string &name, int flags) {
  struct open_how how = {};
  how.flags = unsigned(flags | O_NOFOLLOW | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: a component was renamed concurrently.
  for (int tries = 0; tries < 100; ++tries) {
    long number =
        ::syscall(SYS_openat2, folder, name.c_str(), &how, sizeof(how));
    if (number >= 0)
      return ErrorOr<Descriptor>(Descriptor(int(number)));
    if (errno != EAGAIN && errno != EINTR)
      break;
  }
  if (errno == ENOSYS || errno == EPERM)
    return std::nullopt;
  return ErrorOr<Descriptor>(errnoAsErrorCode());
}

ErrorOr<Directory> Directory::open(StringRef path) {
  std::string name = path.empty() ? "." : path.str();
  int number = sys::RetryAfterSignal(-1, ::open, name.c_str(),
                                     O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (number < 0)
    return errnoAsErrorCode();
  return Directory(Descriptor(number), path.str());
}

ErrorOr<Descriptor> Directory::openFile(StringRef name) const {
  if (!isBelow(name))
    return std::make_error_code(std::errc::invalid_argument);
  int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
  if (auto opened = openBeneath(get(), name.str(), flags))
    return std::move(*opened);
  ErrorOr<Directory> parent = openDirectory(sys::path::parent_path(name));
  if (!parent)
    return parent.getError();
  return openAt(parent->get(), sys::path::filename(name).str(), flags);
}

ErrorOr<Directory>
Directory::openDirectory(StringRef name, std::vector<std::string> *made) const {
  if (!name.empty() && !isBelow(name))
    return std::make_error_code(std::errc::invalid_argument);
  Directory folder = *this;
  SmallString<256> sofar;
  for (StringRef part :
       make_range(sys::path::begin(name), sys::path::end(name))) {
    sys::path::append(sofar, part);
    if (made && !::mkdirat(folder.get(), part.str().c_str(), 0777))
      made->push_back(sofar.str().str());
    else if (made && errno != EEXIST)
      return errnoAsErrorCode();
    ErrorOr<Descriptor> next =
        openAt(folder.get(), part.str(), O_PATH | O_DIRECTORY);
    if (!next)
      return next.getError();
    folder = Directory(std::move(*next), getPath(sofar));
  }
  return folder;
}

//===----------------------------------------------------------------------===//
// The folder itself
//===----------------------------------------------------------------------===//

ErrorOr<std::vector<std::string>> Directory::list() const {
  ErrorOr<Descriptor> self = openAt(get(), ".", O_RDONLY | O_DIRECTORY);
  if (!self)
    return self.getError();
  int number = ::fcntl(self->get(), F_DUPFD_CLOEXEC, 0);
  DIR *stream = number < 0 ? nullptr : ::fdopendir(number);
  if (!stream)
    return errnoAsErrorCode();
  std::vector<std::string> names;
  while (const dirent *entry = ::readdir(stream))
    names.emplace_back(entry->d_name);
  ::closedir(stream);
  return names;
}

std::error_code Directory::sync() const {
  ErrorOr<Descriptor> self = openAt(get(), ".", O_RDONLY | O_DIRECTORY);
  if (!self)
    return self.getError();
  // Some file systems do not support syncing a folder and return an error.
  if (::fsync(self->get()) && errno != EINVAL && errno != ENOTSUP)
    return errnoAsErrorCode();
  return {};
}

FileIdentity Directory::getIdentity() const {
  struct stat status = {};
  ::fstat(get(), &status);
  return FileIdentity(status);
}

std::string Directory::getPath(StringRef name) const {
  SmallString<256> joined(path);
  sys::path::append(joined, name);
  return joined.str().str();
}

ErrorOr<std::unique_ptr<MemoryBuffer>>
mapFile(const Descriptor &file, const struct stat &status, StringRef name) {
  return MemoryBuffer::getOpenFile(file.get(), name, uint64_t(status.st_size),
                                   /*RequiresNullTerminator=*/false);
}

} // namespace mp
