//===- ControlGroups.h - How much time a group may use ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Linux's files about control groups say, as functions of their text. See
// cgroups(7), proc_pid_mountinfo(5), and in the kernel's documentation
// admin-guide/cgroup-v2 and scheduler/sched-bwc.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_CONTROLGROUPS_H
#define MPOPT_LIB_RUNTIME_CONTROLGROUPS_H

#include <cstddef>
#include <cstdint>

namespace mp::runtime {

/// Processors that a quota amounts to, rounded up; 0: as many as there are, or
/// the text is none that the system writes. The text of cpu.max: "150000
/// 100000", "max 100000".
int32_t parseQuota(const char *text);
/// Version 1: cpu.cfs_quota_us ("150000", "-1") and cpu.cfs_period_us.
int32_t parseQuota(const char *quota, const char *period);

/// The group of a line of /proc/self/cgroup, up to its end or a line's: "0::/a"
/// of version 2, "4:cpu,cpuacct:/a" of version 1. Null if the line is about
/// another version or other controllers.
const char *findGroup(const char *line, int version);

/// A line of /proc/self/mountinfo that mounts groups with the controller "cpu",
/// or of version 2.
struct GroupMount {
  int version = 0;
  /// The group that is mounted, and where.
  char *root = nullptr, *point = nullptr;
};
/// Takes `line` to pieces; false if it mounts something else.
bool parseMount(char *line, GroupMount &mount);

/// Writes the folder of `group` into `path`; false if there is no room. A group
/// that is not beneath the mount's root is not visible: the root stands in.
bool findFolder(const GroupMount &mount, const char *group, char *path,
                size_t room);

/// Cuts the last folder off `path`; false if none is left beneath the mount.
bool goUp(const GroupMount &mount, char *path);

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_CONTROLGROUPS_H
