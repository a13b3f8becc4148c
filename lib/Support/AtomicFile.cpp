//===- AtomicFile.cpp - Output files that are whole or not there ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All names are relative to the open folder of the target, so that concurrent
// changes of paths cannot redirect the file.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/AtomicFile.h"

#include "TemporaryNames.h"

#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace mp {

Error AtomicFile::fail(std::error_code error) const {
  return createStringError("cannot write " + shown + ": " + error.message());
}

Error AtomicFile::failNow() const { return fail(errnoAsErrorCode()); }

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

namespace {

/// Delays signals that would end the process while the object lives. A signal
/// mask would not suffice, since a signal may go to any thread. Only one may
/// exist at a time, since it changes the state of the process.
class SignalDelay {
public:
  SignalDelay();
  ~SignalDelay();

private:
  static constexpr int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR2};
  static std::atomic<int> pending;
  static std::mutex only;
  static void note(int signal) { pending = signal; }

  std::lock_guard<std::mutex> lock{only};
  struct sigaction old[std::size(signals)];
};

} // namespace

std::atomic<int> SignalDelay::pending = 0;
std::mutex SignalDelay::only;

SignalDelay::SignalDelay() {
  pending = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(signals); ++i) {
    ::sigaction(signals[i], nullptr, &old[i]);
    if (old[i].sa_handler != SIG_IGN)
      ::sigaction(signals[i], &action, nullptr);
  }
}

SignalDelay::~SignalDelay() {
  for (size_t i = 0; i < std::size(signals); ++i)
    ::sigaction(signals[i], &old[i], nullptr);
  if (int signal = pending)
    ::raise(signal);
}

//===----------------------------------------------------------------------===//
// Temporaries
//===----------------------------------------------------------------------===//

std::string AtomicFile::chooseTemporary() const {
  return makeTemporaryName(base, folder->get());
}

static std::string getProcPath(const Descriptor &descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor.get());
}

Error AtomicFile::openTemporary() {
  int number =
      ::openat(folder->get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC,
               S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
  descriptor = Descriptor(number);
  // Naming an unnamed file requires /proc.
  if (!descriptor.isOpen() || ::access(getProcPath(descriptor).c_str(), F_OK) ||
      ::flock(number, LOCK_EX | LOCK_NB)) {
    descriptor.close();
    if (Error failed = openNamed())
      return failed;
  }
  if (mode && ::fchmod(descriptor.get(), *mode))
    return failNow();
  stream = std::make_unique<raw_fd_ostream>(descriptor.get(),
                                            /*shouldClose=*/false);
  stream->SetBufferSize(1 << 16);
  return Error::success();
}

/// A process that cleans up locks files first, so a new file that is removed or
/// locked was mistaken for a leftover.
Error AtomicFile::openNamed() {
  for (int tries = 0; tries < 100; ++tries) {
    temporary = chooseTemporary();
    sys::RemoveFileOnSignal(folder->getPath(temporary));
    descriptor = Descriptor(
        ::openat(folder->get(), temporary.c_str(),
                 O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0666));
    int error = errno;
    if (!descriptor.isOpen()) {
      forgetTemporary();
      if (error == EEXIST)
        continue;
      return fail(std::error_code(error, std::generic_category()));
    }
    bool isLocked = !::flock(descriptor.get(), LOCK_EX | LOCK_NB);
    bool isShared = !isLocked && errno == EWOULDBLOCK;
    struct stat status;
    if (!isShared && !::fstat(descriptor.get(), &status) && status.st_nlink)
      return Error::success();
    forgetTemporary();
  }
  return fail(std::make_error_code(std::errc::file_exists));
}

void AtomicFile::forgetTemporary() {
  sys::DontRemoveFileOnSignal(folder->getPath(temporary));
  temporary.clear();
}

/// Gives an unnamed file its temporary name, since only named files can be
/// renamed.
Error AtomicFile::expose() {
  if (!temporary.empty())
    return Error::success();
  for (int tries = 0; tries < 100; ++tries) {
    temporary = chooseTemporary();
    sys::RemoveFileOnSignal(folder->getPath(temporary));
    if (!::linkat(AT_FDCWD, getProcPath(descriptor).c_str(), folder->get(),
                  temporary.c_str(), AT_SYMLINK_FOLLOW))
      return Error::success();
    int error = errno;
    forgetTemporary();
    if (error != EEXIST)
      return fail(std::error_code(error, std::generic_category()));
  }
  return fail(std::make_error_code(std::errc::file_exists));
}

//===----------------------------------------------------------------------===//
// AtomicFile
//===----------------------------------------------------------------------===//

/// The target of a link in place of an output, even if the target does not
/// exist yet.
static std::string followLinks(StringRef path) {
  SmallString<256> current(path);
  for (int hops = 0; hops < 40; ++hops) {
    char buffer[4096];
    ssize_t size = ::readlink(current.c_str(), buffer, sizeof(buffer));
    if (size < 0)
      break;
    StringRef target(buffer, size_t(size));
    if (sys::path::is_absolute(target)) {
      current = target;
      continue;
    }
    sys::path::remove_filename(current);
    sys::path::append(current, target);
  }
  return current.str().str();
}

Expected<std::unique_ptr<AtomicFile>>
AtomicFile::create(StringRef path, LeftoverFn onLeftover) {
  std::unique_ptr<AtomicFile> file(new AtomicFile());
  file->shown = ("'" + path + "'").str();
  std::string given = path.str();
  struct stat status;
  bool exists = !::stat(given.c_str(), &status);
  if (!exists && errno != ENOENT)
    return file->failNow();
  if (exists && S_ISDIR(status.st_mode))
    return file->fail(std::make_error_code(std::errc::is_a_directory));
  // Devices and pipes are written to and never replaced.
  if (exists && !S_ISREG(status.st_mode)) {
    file->direct = true;
    file->descriptor = Descriptor(
        sys::RetryAfterSignal(-1, ::open, given.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file->descriptor.isOpen())
      return file->failNow();
    file->stream = std::make_unique<raw_fd_ostream>(file->descriptor.get(),
                                                    /*shouldClose=*/false);
    return file;
  }
  if (exists)
    file->mode = status.st_mode & 0777;
  std::string real = followLinks(path);
  StringRef name = sys::path::filename(real);
  if (sys::path::is_separator(real.back()) || name == "." || name == "..")
    return file->fail(std::make_error_code(std::errc::is_a_directory));
  file->name = file->base = name.str();
  ErrorOr<Directory> folder = Directory::open(sys::path::parent_path(real));
  if (!folder)
    return file->fail(folder.getError());
  file->folder = *folder;
  removeLeftovers(*folder, file->base, onLeftover);
  if (Error failed = file->openTemporary())
    return failed;
  return file;
}

Error AtomicFile::check(StringRef path) {
  std::string given = path.str();
  struct stat status;
  bool isDevice = !::stat(given.c_str(), &status) && !S_ISREG(status.st_mode) &&
                  !S_ISDIR(status.st_mode);
  if (!isDevice)
    return create(path).takeError();
  if (!::access(given.c_str(), W_OK))
    return Error::success();
  return createStringError("cannot write '" + path +
                           "': " + errnoAsErrorCode().message());
}

Expected<std::unique_ptr<AtomicFile>>
AtomicFile::createPart(const Directory &folder, const AtomicFile &main,
                       const Twine &shown) {
  std::unique_ptr<AtomicFile> file(new AtomicFile());
  file->shown = shown.str();
  file->folder = folder;
  file->base = main.base;
  file->mode = main.mode;
  if (!(folder.getIdentity() == main.folder->getIdentity()))
    removeLeftovers(folder, file->base, nullptr);
  if (Error failed = file->openTemporary())
    return failed;
  return file;
}

AtomicFile::~AtomicFile() {
  if (stream) {
    stream->clear_error();
    stream.reset();
  }
  if (!temporary.empty()) {
    ::unlinkat(folder->get(), temporary.c_str(), 0);
    forgetTemporary();
  }
  if (provisional) {
    ::unlinkat(folder->get(), name.c_str(), 0);
    sys::DontRemoveFileOnSignal(folder->getPath(name));
  }
}

Expected<int> AtomicFile::setLength(uint64_t length) {
  stream->flush();
  // If space cannot be reserved in advance, a full disk is noticed while
  // writing.
  if (length && !::fallocate(descriptor.get(), 0, 0, off_t(length)))
    return descriptor.get();
  if (length && errno != EOPNOTSUPP && errno != ENOSYS)
    return failNow();
  if (::ftruncate(descriptor.get(), off_t(length)))
    return failNow();
  return descriptor.get();
}

/// fsync waits in a state that signals cannot end. When it is called, most of
/// the file is already on the disk.
Error AtomicFile::syncData() {
  constexpr off_t window = 8 << 20, ahead = 4 * window;
  struct stat status;
  if (::fstat(descriptor.get(), &status))
    return failNow();
  auto sync = [&](off_t begin, unsigned flags) {
    return ::sync_file_range(descriptor.get(), begin, window, flags) &&
           (errno == EIO || errno == ENOSPC || errno == EDQUOT);
  };
  for (off_t begin = 0; begin < status.st_size; begin += window)
    if (sync(begin, SYNC_FILE_RANGE_WRITE) ||
        (begin >= ahead && sync(begin - ahead, SYNC_FILE_RANGE_WAIT_BEFORE |
                                                   SYNC_FILE_RANGE_WRITE |
                                                   SYNC_FILE_RANGE_WAIT_AFTER)))
      return failNow();
  return ::fsync(descriptor.get()) ? failNow() : Error::success();
}

Error AtomicFile::finish() {
  stream->flush();
  if (stream->has_error()) {
    std::error_code error = stream->error();
    stream->clear_error();
    return fail(error);
  }
  return direct ? Error::success() : syncData();
}

bool AtomicFile::hasContent(StringRef content) const {
  struct stat status;
  if (::fstat(descriptor.get(), &status) ||
      uint64_t(status.st_size) != content.size())
    return false;
  auto own = mapFile(descriptor, status, shown);
  return own && (*own)->getBuffer() == content;
}

/// Creates the name if it does not exist. If another process has created it in
/// the meantime, that is not an error: the file stays unplaced. A signal
/// removes the name only after this process has created it.
Error AtomicFile::placeNew() {
  SignalDelay delay;
  int result = temporary.empty()
                   ? ::linkat(AT_FDCWD, getProcPath(descriptor).c_str(),
                              folder->get(), name.c_str(), AT_SYMLINK_FOLLOW)
                   : ::renameat2(folder->get(), temporary.c_str(),
                                 folder->get(), name.c_str(), RENAME_NOREPLACE);
  if (!result) {
    sys::RemoveFileOnSignal(folder->getPath(name));
    placed = provisional = true;
    return Error::success();
  }
  // A file system without this flag answers with EINVAL.
  if (errno == EEXIST || (errno == EINVAL && !temporary.empty()))
    return Error::success();
  return failNow();
}

Error AtomicFile::place() {
  if (placed)
    return Error::success();
  struct stat status;
  if (::fstatat(folder->get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) &&
      errno == ENOENT)
    if (Error failed = placeNew())
      return failed;
  if (!placed) {
    if (Error failed = expose())
      return failed;
    if (::renameat(folder->get(), temporary.c_str(), folder->get(),
                   name.c_str()))
      return failNow();
    placed = true;
  }
  if (!temporary.empty())
    forgetTemporary();
  // Models may have more data files than the limit of open files of a process.
  stream.reset();
  descriptor.close();
  return Error::success();
}

/// Names the parts, durably: before `main` refers to them.
static Error placeParts(ArrayRef<AtomicFile *> parts) {
  for (AtomicFile *part : parts)
    if (Error failed = part->place())
      return failed;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Directory &folder = parts[i]->getFolder();
    if (i && folder.getIdentity() == parts[i - 1]->getFolder().getIdentity())
      continue;
    if (std::error_code error = folder.sync())
      return parts[i]->fail(error);
  }
  return Error::success();
}

Error AtomicFile::commit() { return commitTogether({}, *this); }

Error commitTogether(ArrayRef<AtomicFile *> parts, AtomicFile &main,
                     ArrayRef<std::string> obsolete,
                     const Directory *obsoleteFolder) {
  if (main.direct)
    return Error::success();
  if (Error failed = main.expose())
    return failed;
  if (Error failed = placeParts(parts))
    return failed;
  const int folder = main.folder->get();
  const std::string temporary = main.temporary, name = main.name;
  {
    SignalDelay delay;
    // An old main file that has its own data stays until these are removed.
    bool isExchanged =
        !obsolete.empty() && !::renameat2(folder, temporary.c_str(), folder,
                                          name.c_str(), RENAME_EXCHANGE);
    if (!isExchanged &&
        ::renameat(folder, temporary.c_str(), folder, name.c_str()))
      return main.failNow();
    for (AtomicFile *part : parts) {
      part->provisional = false;
      sys::DontRemoveFileOnSignal(part->folder->getPath(part->name));
    }
    for (const std::string &old : obsolete)
      sys::RemoveFileOnSignal(obsoleteFolder->getPath(old));
    if (!isExchanged)
      main.forgetTemporary();
  }
  std::error_code error = main.folder->sync();
  std::string undead;
  for (const std::string &old : obsolete) {
    std::string path = obsoleteFolder->getPath(old);
    if (::unlinkat(obsoleteFolder->get(), old.c_str(), 0) && errno != ENOENT) {
      error = errnoAsErrorCode();
      undead = path;
    }
    sys::DontRemoveFileOnSignal(path);
  }
  if (undead.empty())
    return error ? main.fail(error) : Error::success();
  // The old main file stays, so that the next run knows which files to remove.
  if (!main.temporary.empty())
    main.forgetTemporary();
  return createStringError("cannot remove '" + undead +
                           "': " + error.message());
}

Error flushStandardOutput() {
  raw_fd_ostream &os = outs();
  os.flush();
  if (!os.has_error())
    return Error::success();
  std::string why = os.error().message();
  os.clear_error();
  return createStringError("cannot write to standard output: " + why);
}

} // namespace mp
