//===- Threads.cpp - The pool of the run-time, and what limits it ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops of all kinds, from several callers, with more threads than the machine
// has processors, in children of forks, and between changes of the number of
// threads: every range is computed once, and is complete when the loop ends.
// Also the texts by which Linux describes the processors that a process may
// use. The program uses no C++ library, like the runtime itself, and is also
// built with the thread sanitizer.
//
//===----------------------------------------------------------------------===//

#include "Runtime/CPU/ControlGroups.h"
#include "Runtime/CPU/Pool.h"
#include "Runtime/CPU/Processors.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mp::runtime;

static std::atomic<int> failures{0}, checks{0};

static void expect(bool holds, const char *what, const char *of = "") {
  ++checks;
  if (holds)
    return;
  ++failures;
  std::fprintf(stderr, "failed: %s %s\n", what, of);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
/// The state that a loop changes: plain memory, which lets tools see races.
struct Frame {
  Pool *pool;
  /// The number of times that each index was computed.
  int counts[4096];
  int64_t pause;
  bool isNested;
};
} // namespace

static void body(void *data, int64_t begin, int64_t end) {
  auto *frame = static_cast<Frame *>(data);
  for (int64_t index = begin; index < end; ++index)
    ++frame->counts[index];
  for (int64_t until = readClock() + frame->pause; readClock() < until;)
    ;
  if (!frame->isNested || begin)
    return;
  Frame inner = {frame->pool, {}, 0, false};
  frame->pool->run({100, 3, body, &inner, nullptr});
  for (int64_t index = 0; index < 100; ++index)
    expect(inner.counts[index] == 1, "a loop in a loop");
}

/// Runs loops of many lengths; each index is computed once in each.
static void runLoops(Pool &pool, int rounds, int64_t pause, const char *what) {
  Frame frame = {&pool, {}, pause, false};
  int expected[4096] = {};
  for (int round = 0; round < rounds; ++round) {
    int64_t count = 1 + round * 37 % 200, grain = 1 + round % 7;
    frame.isNested = round % 50 == 0;
    pool.run({count, grain, body, &frame, nullptr});
    for (int64_t index = 0; index < count; ++index)
      ++expected[index];
    // The check comes at once: a thread that is still working would be found.
    if (std::memcmp(expected, frame.counts, sizeof(expected)) != 0)
      return expect(false, "every range is computed once:", what);
  }
  expect(true, what);
}

namespace {
struct Rendezvous {
  pthread_t caller;
  std::atomic<bool> hasHelp;
};
} // namespace

/// The caller's range lasts until another thread has come, or for a minute.
static void waitForHelp(void *data, int64_t, int64_t) {
  auto *rendezvous = static_cast<Rendezvous *>(data);
  if (!pthread_equal(rendezvous->caller, pthread_self()))
    rendezvous->hasHelp = true;
  int64_t end = readClock() + 60'000'000'000;
  while (!rendezvous->hasHelp && readClock() < end)
    usleep(1000);
}

/// Threads that sleep are woken for a loop.
static void expectHelp(Pool &pool, const char *when) {
  Rendezvous rendezvous = {pthread_self(), {false}};
  pool.run({2, 1, waitForHelp, &rendezvous, nullptr});
  expect(rendezvous.hasHelp, "threads take part", when);
}

static void checkCounts() {
  for (int32_t threads : {1, 2, 3, 8, 33}) {
    Pool pool;
    pool.pretendProcessors(threads);
    pool.setCount(1000);
    expect(pool.getCount() == threads, "not more threads than processors");
    runLoops(pool, 500, 0, "many threads");
    runLoops(pool, 10, 300'000, "long ranges: who waits sleeps");
    // Longer than threads spin.
    for (int pause = 0; pause < 5; ++pause) {
      usleep(2000);
      runLoops(pool, 3, 0, "threads that slept");
    }
    usleep(2000);
    if (threads > 1)
      expectHelp(pool, "after they slept");
    pool.end();
  }
}

static void checkChanges() {
  Pool pool;
  pool.pretendProcessors(6);
  for (int32_t count : {2, 6, 1, 3, 0, 5, -1, INT_MAX, 2}) {
    pool.setCount(count);
    expect(pool.getCount() == (count > 0 && count < 6 ? count : 6),
           "the count that was asked for");
    runLoops(pool, 200, 0, "another count");
  }
  pool.end();
  runLoops(pool, 200, 0, "after an end");
  pool.end();
}

static void checkCallers() {
  static Pool pool;
  pool.pretendProcessors(4);
  pthread_t callers[5];
  for (pthread_t &caller : callers)
    pthread_create(
        &caller, nullptr,
        [](void *) -> void * {
          runLoops(pool, 300, 0, "several callers");
          return nullptr;
        },
        nullptr);
  for (int32_t count : {2, 3, 4, 2, 4})
    pool.setCount(count), usleep(1000);
  for (pthread_t caller : callers)
    pthread_join(caller, nullptr);
  pool.end();
}

/// A crowd is noted by hand, as on a machine that is busy.
static void checkCrowd() {
  cpu_set_t before, after;
  sched_getaffinity(0, sizeof(before), &before);
  Pool pool;
  pool.pretendProcessors(3);
  for (int round = 0; round < 10; ++round) {
    pool.noteCrowd();
    runLoops(pool, 200, round % 2 * 20'000, "in a crowd");
  }
  usleep(120'000);
  runLoops(pool, 200, 0, "after a crowd");
  sched_getaffinity(0, sizeof(after), &after);
  expect(CPU_EQUAL(&before, &after), "the caller's affinity is left alone");
  pool.end();
}

#ifndef MPOPT_THREAD_SANITIZER
static void addOne(void *data, int64_t begin, int64_t end) {
  for (int64_t index = begin; index < end; ++index)
    ++static_cast<int *>(data)[index];
}

/// A child process has none of the threads, and must start its own.
static void checkForks() {
  static Pool pool;
  pthread_atfork(nullptr, nullptr, [] { pool.forget(); });
  pool.pretendProcessors(4);
  runLoops(pool, 50, 0, "before a fork");
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    failures = 0;
    runLoops(pool, 50, 0, "in the child of a fork");
    expectHelp(pool, "in the child of a fork");
    pool.end();
    std::exit(failures != 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  expect(status == 0, "the child of a fork ends well");
  runLoops(pool, 50, 0, "after a fork");
  pool.end();
}

/// The same of the process's own pool, which ends with the process.
static void checkOwnPool() {
  mp_set_threads(0);
  int counts[1000] = {};
  mp_parallel_for(1000, 1, addOne, counts);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    mp_parallel_for(1000, 1, addOne, counts);
    for (int count : counts)
      if (count != 2)
        std::exit(1);
    std::exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  expect(status == 0, "a model in the child of a fork");
  mp_parallel_for(1000, 1, addOne, counts);
  for (int count : counts)
    expect(count == 2, "a loop after a fork");
}
#endif

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

static void checkQuotas() {
  struct {
    const char *text;
    int32_t count;
  } cases[] = {{"max 100000\n", 0},
               {"50000 100000\n", 1},
               {"100000 100000\n", 1},
               {"100001 100000\n", 2},
               {"150000 100000", 2},
               {"800000 100000\n", 8},
               {"1 1000000\n", 1},
               {"9223372036854775807 1\n", INT_MAX},
               {"99999999999999999999999999 100000\n", INT_MAX},
               {"99999999999999999999999999 99999999999999999999999\n", 1},
               {"100000 99999999999999999999999999\n", 1},
               {"", 0},
               {"\n", 0},
               {"max", 0},
               {"100000", 0},
               {"100000 ", 0},
               {"100000 0\n", 0},
               {"0 100000\n", 0},
               {"-1 100000\n", 0},
               {"100000 -1\n", 0},
               {"+1 1\n", 0},
               {" 1 1\n", 0},
               {"1  1\n", 0},
               {"1\t1\n", 0},
               {"100000 100000 7\n", 0},
               {"100000 100000x", 0},
               {"0x10 1\n", 0},
               {"1e9 1\n", 0}};
  for (auto &check : cases)
    expect(parseQuota(check.text) == check.count, "quota", check.text);
  expect(parseQuota("-1\n", "100000\n") == 0, "version 1: no quota");
  expect(parseQuota("50000\n", "100000\n") == 1, "version 1: a half");
  expect(parseQuota("250000\n", "100000\n") == 3, "version 1: two and a half");
  expect(parseQuota("", "") == 0, "version 1: nothing");
  expect(parseQuota("50000\n", "0\n") == 0, "version 1: no period");
  expect(parseQuota("50000\n", "") == 0, "version 1: a period that is missing");
  expect(parseQuota("5 5\n", "5\n") == 0, "version 1: two numbers");
}

static void checkGroups() {
  struct {
    const char *line;
    int version;
    const char *group;
  } cases[] = {{"0::/\n", 2, "/\n"},
               {"0::/user.slice/a:b\n", 2, "/user.slice/a:b\n"},
               {"0::/\n", 1, nullptr},
               {"1:cpu:/\n", 1, "/\n"},
               {"4:cpu,cpuacct:/docker/1\n", 1, "/docker/1\n"},
               {"4:cpuacct,cpu:/a", 1, "/a"},
               {"4:cpuacct,cpuset:/a", 1, nullptr},
               {"4:cpu:/a", 2, nullptr},
               {"9:name=systemd:/", 1, nullptr},
               {"9:name=systemd:/", 2, nullptr},
               {"7::/a", 2, nullptr},
               {"", 2, nullptr},
               {"\n", 1, nullptr},
               {"0:", 2, nullptr},
               {"0::", 2, nullptr},
               {"0::a", 2, nullptr},
               {"cpu", 1, nullptr}};
  for (auto &check : cases) {
    const char *group = findGroup(check.line, check.version);
    bool holds = group && check.group ? !std::strcmp(group, check.group)
                                      : !group && !check.group;
    expect(holds, "group of", check.line);
  }
}

namespace {
struct MountCase {
  const char *line;
  int version;
  const char *group, *folders;
};
} // namespace

/// All folders from a group's up to the mount, joined by spaces.
static void checkFolders(const MountCase &check) {
  char line[512], path[256], found[512] = "";
  std::snprintf(line, sizeof(line), "%s", check.line);
  GroupMount mount;
  bool isOne = parseMount(line, mount);
  expect(isOne == (check.version != 0), "mount", check.line);
  if (!isOne)
    return;
  expect(mount.version == check.version, "version of", check.line);
  if (!findFolder(mount, check.group, path, sizeof(path)))
    return expect(!check.folders, "room for", check.group);
  do {
    std::strncat(found, path, sizeof(found) - std::strlen(found) - 2);
    std::strcat(found, " ");
  } while (goUp(mount, path));
  expect(check.folders && !std::strcmp(found, check.folders), found,
         check.line);
}

static void checkMounts() {
  static char longGroup[300];
  std::memset(longGroup, '/', sizeof(longGroup) - 1);
  static const MountCase cases[] = {
      {"41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n", 2,
       "/a/b\n", "/sys/fs/cgroup/a/b /sys/fs/cgroup/a /sys/fs/cgroup "},
      {"41 31 0:38 / /sys/fs/cgroup rw shared:4 master:1 - cgroup2 none rw", 2,
       "/\n", "/sys/fs/cgroup "},
      {"32 31 0:29 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n", 1,
       "/x\n", "/cg/cpu,cpuacct/x /cg/cpu,cpuacct "},
      {"33 31 0:30 / /cg/cpuacct rw - cgroup cgroup rw,cpuacct\n", 0, "", ""},
      // A container that only sees its own part.
      {"9 8 0:1 /docker/7 /cg rw - cgroup2 cgroup rw\n", 2, "/docker/7/a\n",
       "/cg/a /cg "},
      {"9 8 0:1 /docker/7 /cg rw - cgroup2 cgroup rw\n", 2, "/docker/7\n",
       "/cg "},
      {"9 8 0:1 /docker/7 /cg rw - cgroup2 cgroup rw\n", 2, "/docker/77\n",
       "/cg "},
      {"9 8 0:1 / /cg rw - cgroup2 cgroup rw\n", 2, "/../a\n", "/cg "},
      {"9 8 0:1 /../.. /cg rw - cgroup2 cgroup rw\n", 2, "/a\n", "/cg "},
      {"9 8 0:1 / /my\\040groups rw - cgroup2 cgroup rw\n", 2, "/a\n",
       "/my groups/a /my groups "},
      {"9 8 0:1 / /cg\\04 rw - cgroup2 cgroup rw\n", 2, "/\n", "/cg\\04 "},
      {"9 8 0:1 / /cg rw - cgroup2 cgroup rw\n", 2, longGroup, nullptr},
      {"9 8 0:1 / /cg rw - cgroup2 cgroup\n", 0, "", ""},
      {"9 8 0:1 / /cg rw cgroup2 cgroup rw\n", 0, "", ""},
      {"9 8 0:1 / /proc rw - proc proc rw\n", 0, "", ""},
      {"9 8 0:1\n", 0, "", ""},
      {"-", 0, "", ""},
      {"", 0, "", ""}};
  for (const MountCase &check : cases)
    checkFolders(check);
}

/// Checks the number of processors of the real machine.
static void checkProcessors() {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof(all), &all);
  int32_t count = countProcessors();
  expect(count >= 1 && count <= CPU_COUNT(&all), "processors by affinity");
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof(one), &one);
  expect(countProcessors() == 1, "one processor by affinity");
  mp_set_threads(8);
  expect(mp_get_threads() == 1, "one thread for one processor");
  sched_setaffinity(0, sizeof(all), &all);
  mp_set_threads(0);
  expect(mp_get_threads() == count, "all again");
}

int main() {
  checkQuotas();
  checkGroups();
  checkMounts();
  checkProcessors();
  checkCounts();
  checkChanges();
  checkCallers();
  checkCrowd();
  // The sanitizer knows nothing of threads in the child of a fork.
#ifndef MPOPT_THREAD_SANITIZER
  checkForks();
  checkOwnPool();
#endif
  std::printf("%d checks, %d failed\n", checks.load(), failures.load());
  return failures != 0;
}
