//===- faults.c - Calls that fail at a chosen time ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To be loaded with LD_PRELOAD. The environment says what happens:
//
//   FAULT_CALL=name    the call that fails; renameat, say
//   FAULT_NUMBER=N     the Nth of them, from 1 on
//   FAULT_ACTION=what  EIO, ENOSPC, SHORT (half is written), or a signal that
//                      the process gets before the call (KILL, INT, TERM) or
//                      after it (KILL_AFTER)
//   FAULT_LOG=file     is made when it happens
//   NO_OPENAT2=error   openat2 fails with ENOSYS or EPERM
//   NO_TMPFILE=1       there are no files without a name
//
// Standard input, output and error are left alone.
//
//===----------------------------------------------------------------------===//

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum outcome { PROCEED, FAIL, HALF, END_AFTER };

static enum outcome act(const char *action) {
  const char *log = getenv("FAULT_LOG");
  if (log)
    close((int)syscall(SYS_open, log, O_CREAT | O_WRONLY, 0666));
  if (!strcmp(action, "SHORT"))
    return HALF;
  if (!strcmp(action, "KILL_AFTER"))
    return END_AFTER;
  if (!strcmp(action, "KILL"))
    kill(getpid(), SIGKILL);
  if (!strcmp(action, "INT"))
    raise(SIGINT);
  if (!strcmp(action, "TERM"))
    raise(SIGTERM);
  errno = !strcmp(action, "ENOSPC") ? ENOSPC : EIO;
  return strcmp(action, "EIO") && strcmp(action, "ENOSPC") ? PROCEED : FAIL;
}

/// Decides the outcome of this call of `name` on `descriptor`.
static enum outcome check(const char *name, int descriptor) {
  static atomic_int count;
  const char *call = getenv("FAULT_CALL"), *number = getenv("FAULT_NUMBER");
  const char *action = getenv("FAULT_ACTION");
  if (!call || !number || !action || strcmp(call, name))
    return PROCEED;
  if (descriptor >= 0 && descriptor <= 2)
    return PROCEED;
  if (atomic_fetch_add(&count, 1) + 1 != atoi(number))
    return PROCEED;
  return act(action);
}

static long finish(enum outcome outcome, long result) {
  if (outcome == END_AFTER)
    kill(getpid(), SIGKILL);
  return result;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/// A call that says on which descriptor it works, or -1.
#define WRAP(result, name, descriptor, parameters, ...)                        \
  result name parameters {                                                     \
    enum outcome outcome = check(#name, descriptor);                           \
    if (outcome == FAIL)                                                       \
      return -1;                                                               \
    return (result)finish(outcome, NEXT(name)(__VA_ARGS__));                   \
  }

/// One that writes `size` bytes.
#define WRAP_WRITE(name, parameters, ...)                                      \
  ssize_t name parameters {                                                    \
    enum outcome outcome = check(#name, fd);                                   \
    if (outcome == FAIL)                                                       \
      return -1;                                                               \
    if (outcome == HALF && size > 1)                                           \
      size /= 2;                                                               \
    return finish(outcome, NEXT(name)(__VA_ARGS__));                           \
  }

WRAP_WRITE(write, (int fd, const void *data, size_t size), fd, data, size)
WRAP_WRITE(pwrite, (int fd, const void *data, size_t size, off_t at), fd, data,
           size, at)
WRAP(ssize_t, writev, fd, (int fd, const struct iovec *v, int n), fd, v, n)
WRAP(int, fsync, fd, (int fd), fd)
WRAP(int, fdatasync, fd, (int fd), fd)
WRAP(int, sync_file_range, fd, (int fd, off_t from, off_t size, unsigned flags),
     fd, from, size, flags)
WRAP(int, ftruncate, fd, (int fd, off_t size), fd, size)
WRAP(int, fallocate, fd, (int fd, int mode, off_t at, off_t size), fd, mode, at,
     size)
WRAP(int, fchmod, fd, (int fd, mode_t mode), fd, mode)
WRAP(int, rename, -1, (const char *from, const char *to), from, to)
WRAP(int, renameat, -1, (int from, const char *old, int to, const char *name),
     from, old, to, name)
WRAP(int, renameat2, -1,
     (int from, const char *old, int to, const char *name, unsigned flags),
     from, old, to, name, flags)
WRAP(int, linkat, -1,
     (int from, const char *old, int to, const char *name, int flags), from,
     old, to, name, flags)
WRAP(int, unlinkat, -1, (int folder, const char *name, int flags), folder, name,
     flags)
WRAP(int, mkdirat, -1, (int folder, const char *name, mode_t mode), folder,
     name, mode)

/// Fails with the error itself.
int posix_fallocate(int fd, off_t at, off_t size) {
  enum outcome outcome = check("posix_fallocate", fd);
  if (outcome == FAIL)
    return errno;
  return (int)finish(outcome, NEXT(posix_fallocate)(fd, at, size));
}

int openat(int folder, const char *name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  if ((flags & O_TMPFILE) == O_TMPFILE && getenv("NO_TMPFILE")) {
    errno = EOPNOTSUPP;
    return -1;
  }
  enum outcome outcome = check("openat", -1);
  if (outcome == FAIL)
    return -1;
  return (int)finish(outcome, NEXT(openat)(folder, name, flags, mode));
}

long syscall(long number, ...) {
  long argument[6];
  va_list rest;
  va_start(rest, number);
  for (int i = 0; i < 6; ++i)
    argument[i] = va_arg(rest, long);
  va_end(rest);
  const char *error = getenv("NO_OPENAT2");
  if (number == SYS_openat2 && error) {
    errno = !strcmp(error, "EPERM") ? EPERM : ENOSYS;
    return -1;
  }
  return NEXT(syscall)(number, argument[0], argument[1], argument[2],
                       argument[3], argument[4], argument[5]);
}

// The same under the names for 64-bit offsets.
#define SAME(name64, name)                                                     \
  __asm__(".globl " #name64 "\n.set " #name64 ", " #name)
SAME(pwrite64, pwrite);
SAME(ftruncate64, ftruncate);
SAME(fallocate64, fallocate);
SAME(posix_fallocate64, posix_fallocate);
SAME(openat64, openat);
