//===- AnswerFile.cpp - Answers of a check, kept in a file ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Search/AnswerFile.h"

#include "mp-opt/Support/FlatJSON.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using namespace llvm;

namespace mp {

/// Hashes are texts: numbers of JSON are doubles for many readers.
static std::string formatHash(uint64_t hash) {
  return toHex(StringRef(reinterpret_cast<const char *>(&hash), sizeof(hash)),
               /*LowerCase=*/true);
}

static std::optional<uint64_t> parseHash(std::optional<StringRef> text) {
  std::string bytes;
  if (!text || text->size() != 2 * sizeof(uint64_t) ||
      !tryGetFromHex(*text, bytes))
    return std::nullopt;
  uint64_t hash;
  std::memcpy(&hash, bytes.data(), sizeof(hash));
  return hash;
}

static Error refuse(const std::string &path, const Twine &text) {
  return createStringError("--state: '" + path + "' " + text);
}

Expected<AnswerFile> AnswerFile::open(const std::string &path,
                                      const SearchIdentity &identity) {
  AnswerFile answers;
  answers.path = path;
  if (path.empty())
    return answers;
  int descriptor =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return refuse(path, "cannot be written: " + sys::StrError(errno));
  answers.file = Descriptor(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB))
    return refuse(path, "is in use by another process");
  if (Error failed = answers.read(identity))
    return failed;
  return answers;
}

Error AnswerFile::readLine(StringRef line, unsigned number,
                           const SearchIdentity &identity) {
  auto isForeign = [&] {
    return refuse(path, "is not a state of mp-opt " + identity.command +
                            " (line " + Twine(number) +
                            "); give another name, or remove it");
  };
  Expected<json::Value> parsed = parseFlatJSON(line, /*maxDepth=*/2);
  if (!parsed) {
    consumeError(parsed.takeError());
    return isForeign();
  }
  json::Object *object = parsed->getAsObject();
  auto model = object ? parseHash(object->getString("model")) : std::nullopt;
  if (!model)
    return isForeign();
  if (number > 1) {
    std::optional<bool> passes = object->getBoolean("passes");
    if (!passes)
      return isForeign();
    answers[*model] = *passes;
    return Error::success();
  }
  if (object->getString("mp-opt") != identity.command)
    return isForeign();
  StringRef other;
  if (*model != identity.model)
    other = "another model";
  else if (object->getString("settings") != identity.settings)
    other = "other flags";
  else if (object->getString("check") != identity.check)
    other = "another check";
  if (other.empty())
    return Error::success();
  return refuse(path, "is the state of a search with " + other +
                          "; give another name, or remove it");
}

Error AnswerFile::read(const SearchIdentity &identity) {
  auto content = MemoryBuffer::getOpenFile(file.get(), path, /*FileSize=*/-1,
                                           /*RequiresNullTerminator=*/false);
  if (!content)
    return refuse(path, "cannot be read: " + content.getError().message());
  StringRef rest = (*content)->getBuffer();
  size_t whole = rest.rfind('\n') + 1;
  bool isTorn = whole < rest.size();
  if (whole == 0 && !StringRef("{\"mp-opt\"").starts_with(rest.take_front(9)))
    return refuse(path, "is not a state of mp-opt " + identity.command +
                            " (line 1); give another name, or remove it");
  rest = rest.take_front(whole);
  for (unsigned number = 1; !rest.empty(); ++number) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    if (Error failed = readLine(line, number, identity))
      return failed;
  }
  numKept = answers.size();
  if (isTorn && ::ftruncate(file.get(), whole))
    return refuse(path, "cannot be written: " + sys::StrError(errno));
  if (whole)
    return Error::success();
  // The key that names the program comes first: objects of json::Value have no
  // order.
  std::string line;
  {
    raw_string_ostream text(line);
    json::OStream json(text);
    json.object([&] {
      json.attribute("mp-opt", identity.command);
      json.attribute("model", formatHash(identity.model));
      json.attribute("settings", identity.settings);
      json.attribute("check", identity.check);
    });
  }
  return append(line);
}

Error AnswerFile::append(StringRef line) {
  std::string text = line.str() + "\n";
  ssize_t written = ::write(file.get(), text.data(), text.size());
  if (written != ssize_t(text.size()) || ::fdatasync(file.get()))
    return refuse(path, "cannot be written: " +
                            sys::StrError(written < 0 ? errno : ENOSPC));
  return Error::success();
}

std::optional<bool> AnswerFile::lookup(uint64_t model) const {
  auto known = answers.find(model);
  return known == answers.end() ? std::nullopt : std::optional(known->second);
}

Error AnswerFile::add(uint64_t model, bool passes) {
  answers[model] = passes;
  if (path.empty())
    return Error::success();
  return append("{\"model\":\"" + formatHash(model) +
                "\",\"passes\":" + (passes ? "true}" : "false}"));
}

} // namespace mp
