//===- TemporaryNames.cpp - Names of unfinished files ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TemporaryNames.h"

#include "llvm/ADT/StringExtras.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace mp {

static constexpr StringLiteral mark = ".mp-opt-";
static constexpr StringLiteral suffix = ".tmp";
static constexpr size_t randomSize = 8;

/// The name before the random part.
static std::string getPrefix(StringRef base, int folder) {
  long limit = ::fpathconf(folder, _PC_NAME_MAX);
  size_t room = (limit > 0 ? size_t(limit) : 255) - 1 - mark.size() -
                randomSize - suffix.size();
  return ("." + shortenName(base, room) + mark).str();
}

std::string makeTemporaryName(StringRef base, int folder) {
  static constexpr StringLiteral letters = "abcdefghijklmnopqrstuvwxyz012345";
  uint8_t bytes[randomSize] = {};
  if (::getrandom(bytes, sizeof(bytes), 0) < 0)
    for (uint8_t &byte : bytes)
      byte = uint8_t(::rand());
  std::string name = getPrefix(base, folder);
  for (uint8_t byte : bytes)
    name += letters[byte % letters.size()];
  return name + suffix.str();
}

/// False if the file is in use, or not ours to touch. A leftover is locked from
/// then on, until it is closed.
static bool isLeftover(const Descriptor &file, struct stat &status) {
  return !::fstat(file.get(), &status) && S_ISREG(status.st_mode) &&
         status.st_uid == ::geteuid() && status.st_nlink == 1 &&
         !::flock(file.get(), LOCK_EX | LOCK_NB);
}

static bool isTemporary(StringRef name, StringRef prefix) {
  return name.consume_front(prefix) && name.consume_back(suffix) &&
         name.size() == randomSize && all_of(name, isAlnum);
}

bool isTemporaryName(StringRef name, StringRef base, int folder) {
  return isTemporary(name, getPrefix(base, folder));
}

void removeLeftovers(const Directory &folder, StringRef base,
                     AtomicFile::LeftoverFn onLeftover) {
  ErrorOr<std::vector<std::string>> names = folder.list();
  if (!names)
    return;
  std::string prefix = getPrefix(base, folder.get());
  for (const std::string &name : *names) {
    if (!isTemporary(name, prefix))
      continue;
    ErrorOr<Descriptor> file = folder.openFile(name);
    struct stat status;
    if (!file || !isLeftover(*file, status))
      continue;
    if (onLeftover)
      if (auto content = mapFile(*file, status, name))
        onLeftover((*content)->getBuffer());
    ::unlinkat(folder.get(), name.c_str(), 0);
  }
}

} // namespace mp
