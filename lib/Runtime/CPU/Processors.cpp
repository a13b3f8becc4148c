//===- Processors.cpp - The number of usable processors -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files that are missing or cannot be parsed impose no limits.
//
//===----------------------------------------------------------------------===//

#include "Processors.h"

#include "ControlGroups.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#ifdef __linux__
#include <fcntl.h>
#include <sched.h>
#endif

namespace mp::runtime {

#ifdef __linux__

static int32_t countAllowed() {
  // The kernel refuses a set that is too small.
  for (size_t bytes = sizeof(cpu_set_t); bytes <= (1 << 16); bytes *= 2) {
    auto *set = static_cast<cpu_set_t *>(std::malloc(bytes));
    if (!set)
      break;
    std::memset(set, 0, bytes);
    bool isKnown = sched_getaffinity(0, bytes, set) == 0;
    int32_t count = isKnown ? CPU_COUNT_S(bytes, set) : 0;
    std::free(set);
    if (count > 0)
      return count;
  }
  return 0;
}

namespace {

/// The lines of a file.
class Lines {
public:
  explicit Lines(const char *path) : file(std::fopen(path, "re")) {}
  ~Lines() {
    if (file)
      std::fclose(file);
    std::free(line);
  }
  Lines(const Lines &) = delete;

  /// Null at the end. It may be written to.
  char *next() {
    return file && getline(&line, &room, file) >= 0 ? line : nullptr;
  }

private:
  std::FILE *file;
  char *line = nullptr;
  size_t room = 0;
};

struct Folder {
  char path[PATH_MAX];
};

} // namespace

/// Reads the start of the file `name` in the folder; empty if there is none.
static void readStart(const Folder &folder, const char *name,
                      char (&text)[64]) {
  Folder file;
  text[0] = 0;
  int length =
      std::snprintf(file.path, sizeof(file.path), "%s/%s", folder.path, name);
  if (length < 0 || size_t(length) >= sizeof(file.path))
    return;
  int descriptor = open(file.path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return;
  ssize_t bytes = read(descriptor, text, sizeof(text) - 1);
  text[bytes > 0 ? bytes : 0] = 0;
  close(descriptor);
}

static int32_t readQuota(const Folder &folder, int version) {
  char quota[64], period[64];
  if (version == 2) {
    readStart(folder, "cpu.max", quota);
    return parseQuota(quota);
  }
  readStart(folder, "cpu.cfs_quota_us", quota);
  readStart(folder, "cpu.cfs_period_us", period);
  return parseQuota(quota, period);
}

/// The least quota of the process's group and those above it, or `most`.
static int32_t readQuotas(const GroupMount &mount, int32_t most) {
  Lines groups("/proc/self/cgroup");
  while (char *line = groups.next()) {
    const char *group = findGroup(line, mount.version);
    Folder folder;
    if (!group || !findFolder(mount, group, folder.path, sizeof(folder.path)))
      continue;
    do {
      int32_t quota = readQuota(folder, mount.version);
      if (quota > 0 && quota < most)
        most = quota;
    } while (goUp(mount, folder.path));
  }
  return most;
}

int32_t countProcessors() {
  int32_t count = countAllowed();
  if (count == 0) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    count = online > 0 && online < INT32_MAX ? static_cast<int32_t>(online) : 1;
  }
  Lines mounts("/proc/self/mountinfo");
  GroupMount mount;
  while (char *line = count > 1 ? mounts.next() : nullptr)
    if (parseMount(line, mount))
      count = readQuotas(mount, count);
  return count;
}

#else

int32_t countProcessors() {
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 && online < INT32_MAX ? static_cast<int32_t>(online) : 1;
}

#endif

} // namespace mp::runtime
