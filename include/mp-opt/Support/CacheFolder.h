//===- CacheFolder.h - Where this machine's findings are kept ---*- C++ -*-===//
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

/// `mp-opt` in the user's folder for caches (XDG_CACHE_HOME, or ~/.cache),
/// which need not be there; empty if there is no such folder.
std::string getCacheFolder();

/// Opens the folder at `path` for what this user alone may write, with mode
/// 0700 if it has to be made. Fails where it is another user's, others may
/// write there, this process may not, or it is on another machine's disk.
llvm::Expected<Directory> openPrivateFolder(llvm::StringRef path);

/// Whether the open file is a regular one that nobody but this user may write.
bool isPrivateFile(const struct stat &status);

} // namespace mp

#endif // MPOPT_SUPPORT_CACHEFOLDER_H
