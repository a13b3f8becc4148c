//===- CacheFolder.cpp - The user's folder for caches ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/CacheFolder.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

using namespace llvm;

namespace mp {

std::string getCacheFolder() {
  SmallString<128> folder;
  if (!sys::path::cache_directory(folder) || !sys::path::is_absolute(folder))
    return "";
  sys::path::append(folder, "mp-opt");
  return folder.str().str();
}

//===----------------------------------------------------------------------===//
// Disks
//===----------------------------------------------------------------------===//

namespace {
struct FileSystem {
  uint32_t magic;
  const char *name;
};
} // namespace

/// Linux's identifiers of network file systems. 9p is not included, since it is
/// also used for the disks of some containers and virtual machines.
static constexpr FileSystem networkFileSystems[] = {
    {0x00006969, "NFS"},    {0x0000517b, "SMB"},   {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB2"},   {0x73757245, "Coda"},  {0x5346414f, "AFS"},
    {0x6b414653, "AFS"},    {0x00c36400, "Ceph"},  {0x0bd00bd0, "Lustre"},
    {0x47504653, "GPFS"},   {0x01161970, "GFS2"},  {0x7461636f, "OCFS2"},
    {0x19830326, "BeeGFS"}, {0xaad7aaea, "PanFS"}, {0x20030528, "OrangeFS"},
    {0x0000564c, "NCP"}};

/// The type of the file system of `device` in the text of /proc/self/mountinfo;
/// empty if it is not listed.
static StringRef findMountType(StringRef mounts, dev_t device) {
  std::string wanted =
      (Twine(major(device)) + ":" + Twine(minor(device))).str();
  while (!mounts.empty()) {
    auto [line, rest] = mounts.split('\n');
    mounts = rest;
    SmallVector<StringRef, 16> fields;
    line.split(fields, ' ');
    if (fields.size() > 2 && fields[2] == wanted)
      return line.split(" - ").second.split(' ').first;
  }
  return "";
}

/// FUSE may be any file system that a program implements. Only disks of other
/// systems and the layers of containers are known to be local.
static bool isLocalFuse(const struct stat &status) {
  auto mounts = MemoryBuffer::getFileAsStream("/proc/self/mountinfo");
  StringRef type =
      mounts ? findMountType((*mounts)->getBuffer(), status.st_dev) : "";
  return type == "fuseblk" || type == "fuse.fuse-overlayfs" ||
         type == "fuse.overlayfs";
}

/// Null for a disk of this machine.
static const char *getNetworkDisk(int folder, const struct stat &status) {
  constexpr uint32_t fuse = 0x65735546;
  struct statfs system = {};
  if (::fstatfs(folder, &system))
    return nullptr;
  for (const FileSystem &known : networkFileSystems)
    if (known.magic == uint32_t(system.f_type))
      return known.name;
  return uint32_t(system.f_type) == fuse && !isLocalFuse(status) ? "FUSE"
                                                                 : nullptr;
}

//===----------------------------------------------------------------------===//
// Rights
//===----------------------------------------------------------------------===//

static bool mayOthersWrite(const struct stat &status) {
  return status.st_mode & (S_IWGRP | S_IWOTH);
}

bool isPrivateFile(const struct stat &status) {
  return S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
         !mayOthersWrite(status);
}

Expected<Directory> openPrivateFolder(StringRef path) {
  auto fail = [&](const Twine &reason) {
    return createStringError("'" + path + "': " + reason);
  };
  if (std::error_code error = sys::fs::create_directories(
          path, /*IgnoreExisting=*/true, sys::fs::owner_all))
    return fail(error.message());
  ErrorOr<Directory> folder = Directory::open(path);
  if (!folder)
    return fail(folder.getError().message());
  struct stat status;
  if (::fstat(folder->get(), &status))
    return fail(errnoAsErrorCode().message());
  if (status.st_uid != ::geteuid())
    return fail("it belongs to another user");
  if (mayOthersWrite(status))
    return fail("others may write there");
  if (const char *disk = getNetworkDisk(folder->get(), status))
    return fail(Twine("it is on a disk of the network (") + disk + ")");
  if (::faccessat(folder->get(), ".", W_OK | X_OK, AT_EACCESS))
    return fail(errnoAsErrorCode().message());
  return *folder;
}

} // namespace mp
