//===- ControlGroups.h - Processor limits of control groups -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses Linux's files about control groups. The functions take their text. See
// cgroups(7), proc_pid_mountinfo(5), and in the kernel's documentation
// admin-guide/cgroup-v2 and scheduler/sched-bwc.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_CONTROLGROUPS_H
#define MPOPT_LIB_RUNTIME_CONTROLGROUPS_H

#include <cstddef>
#include <cstdint>

namespace mp::runtime {

/// The number of processors of a quota, rounded up; 0 if there is no limit or
/// the text is invalid. The text is that of cpu.max: "150000 100000", "max
/// 100000".
int32_t parseQuota(const char *text);
/// Version 1: cpu.cfs_quota_us ("150000", "-1") and cpu.cfs_period_us.
int32_t parseQuota(const char *quota, const char *period);

/// The group in a line of /proc/self/cgroup, which ends with it or with a line
/// break: "0::/a" for version 2, "4:cpu,cpuacct:/a" for version 1. Null if the
/// line is about another version or other controllers.
const char *findGroup(const char *line, int version);

/// A line of /proc/self/mountinfo that mounts groups with the controller "cpu",
/// or of version 2.
struct GroupMount {
  int version = 0;
  /// The group that is mounted, and its mount point.
  char *root = nullptr, *point = nullptr;
};
/// Parses `line`; false if it mounts something else.
bool parseMount(char *line, GroupMount &mount);

/// Writes the folder of `group` into `path`; false if `room` is too small. A
/// group that is not beneath the mount's root is not visible; the root is used
/// instead.
bool findFolder(const GroupMount &mount, const char *group, char *path,
                size_t room);

/// Removes the last folder from `path`; false if none is left beneath the
/// mount.
bool goUp(const GroupMount &mount, char *path);

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_CONTROLGROUPS_H
