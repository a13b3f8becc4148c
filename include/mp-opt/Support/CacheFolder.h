//===- CacheFolder.h - The user's folder for caches -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_CACHEFOLDER_H
#define MPOPT_SUPPORT_CACHEFOLDER_H

#include "mp-opt/Support/Directory.h"

#include "llvm/Support/Error.h"

#include <string>

namespace mp {

/// The path of `mp-opt` in the user's cache folder (XDG_CACHE_HOME, or
/// ~/.cache). It need not exist. Empty if there is no cache folder.
std::string getCacheFolder();

/// Opens a folder that only this user may write, and creates it with mode 0700
/// if necessary. Fails if it belongs to another user, others may write there,
/// this process may not, or it is on a network file system.
llvm::Expected<Directory> openPrivateFolder(llvm::StringRef path);

/// True if the open file is a regular one that only this user may write.
bool isPrivateFile(const struct stat &status);

} // namespace mp

#endif // MPOPT_SUPPORT_CACHEFOLDER_H
