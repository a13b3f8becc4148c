//===- ControlGroups.cpp - Processor limits of control groups -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ControlGroups.h"

#include <cstring>

namespace mp::runtime {

/// Reads a number and skips it; returns -1 if there is none. A number that is
/// too large becomes INT64_MAX.
static int64_t readNumber(const char *&text) {
  if (*text < '0' || *text > '9')
    return -1;
  int64_t number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    int64_t digit = *text - '0';
    number =
        number > (INT64_MAX - digit) / 10 ? INT64_MAX : number * 10 + digit;
  }
  return number;
}

static bool isAtEnd(const char *text) {
  return *text == 0 || (*text == '\n' && text[1] == 0);
}

static int32_t divide(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0)
    return 0;
  int64_t count = quota / period + (quota % period != 0);
  return count < INT32_MAX ? static_cast<int32_t>(count) : INT32_MAX;
}

int32_t parseQuota(const char *text) {
  int64_t quota = readNumber(text);
  if (quota < 0 || *text++ != ' ')
    return 0;
  int64_t period = readNumber(text);
  return isAtEnd(text) ? divide(quota, period) : 0;
}

int32_t parseQuota(const char *quota, const char *period) {
  int64_t dividend = readNumber(quota), divisor = readNumber(period);
  return isAtEnd(quota) && isAtEnd(period) ? divide(dividend, divisor) : 0;
}

/// True if `word` is an entry of the comma-separated list that ends at `end`.
static bool isListed(const char *list, const char *end, const char *word) {
  size_t length = std::strlen(word);
  while (list < end) {
    const void *comma = std::memchr(list, ',', end - list);
    const char *stop = comma ? static_cast<const char *>(comma) : end;
    if (size_t(stop - list) == length && !std::memcmp(list, word, length))
      return true;
    list = stop + 1;
  }
  return false;
}

const char *findGroup(const char *line, int version) {
  const char *list = std::strchr(line, ':');
  const char *group = list ? std::strchr(++list, ':') : nullptr;
  if (!group || group[1] != '/')
    return nullptr;
  bool isMeant = version == 2 ? list == group && !std::strncmp(line, "0:", 2)
                              : isListed(list, group, "cpu");
  return isMeant ? group + 1 : nullptr;
}

/// Returns the text up to the next space and terminates it there; null at the
/// end.
static char *takeField(char *&rest) {
  if (!rest || !*rest)
    return nullptr;
  char *field = rest;
  rest = std::strchr(rest, ' ');
  if (rest)
    *rest++ = 0;
  return field;
}

/// Replaces escapes such as "\040", by which spaces are written.
static void unescape(char *text) {
  char *to = text;
  auto isDigit = [](char c) { return c >= '0' && c <= '7'; };
  for (; *text; ++text) {
    if (*text == '\\' && isDigit(text[1]) && isDigit(text[2]) &&
        isDigit(text[3])) {
      *to++ = static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 +
                                (text[3] - '0'));
      text += 3;
    } else {
      *to++ = *text;
    }
  }
  *to = 0;
}

bool parseMount(char *line, GroupMount &mount) {
  // Format: 31 23 0:28 ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE SUPER-OPTIONS
  if (char *end = std::strchr(line, '\n'))
    *end = 0;
  char *rest = line;
  for (int skipped = 0; skipped < 3; ++skipped)
    takeField(rest);
  mount.root = takeField(rest);
  mount.point = takeField(rest);
  char *field;
  do
    field = takeField(rest);
  while (field && std::strcmp(field, "-") != 0);
  char *type = takeField(rest);
  takeField(rest);
  char *options = takeField(rest);
  if (!mount.root || !mount.point || !type || !options)
    return false;
  unescape(mount.root);
  unescape(mount.point);
  mount.version = 0;
  if (!std::strcmp(type, "cgroup2"))
    mount.version = 2;
  else if (!std::strcmp(type, "cgroup") &&
           isListed(options, options + std::strlen(options), "cpu"))
    mount.version = 1;
  return mount.version != 0;
}

bool findFolder(const GroupMount &mount, const char *group, char *path,
                size_t room) {
  size_t end = std::strcspn(group, "\n");
  size_t root = std::strlen(mount.root);
  if (root == 1)
    root = 0;
  bool isBeneath = root <= end && !std::memcmp(group, mount.root, root) &&
                   (root == end || group[root] == '/');
  // A group "/../a" is outside of the root.
  if (!isBeneath || !std::strncmp(group + root, "/..", 3))
    root = end;
  // "/" alone is the mount itself.
  size_t length = end - root;
  if (length == 1)
    length = 0;
  size_t point = std::strlen(mount.point);
  if (point + length + 1 > room)
    return false;
  std::memcpy(path, mount.point, point);
  std::memcpy(path + point, group + root, length);
  path[point + length] = 0;
  return true;
}

bool goUp(const GroupMount &mount, char *path) {
  size_t point = std::strlen(mount.point);
  if (std::strlen(path) <= point)
    return false;
  char *slash = std::strrchr(path + point, '/');
  if (!slash)
    return false;
  *slash = 0;
  return true;
}

} // namespace mp::runtime
