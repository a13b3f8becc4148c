//===- BuiltinRuntimes.cpp - The tables that are part of the program ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Schema/RuntimeTable.h"

#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"

#include <map>
#include <mutex>

using namespace llvm;

namespace mp {

/// The files of lib/Schema/Runtimes, each with a zero at its end; an empty one
/// is the last.
extern const char runtimeTableFiles[];

namespace {
struct RuntimeFiles {
  RuntimeFiles() {
    for (const char *file = runtimeTableFiles; *file;) {
      StringRef text(file);
      StringRef name = text.split("\nruntime\t").second.split('\n').first;
      names.push_back(name);
      texts[name] = text;
      file += text.size() + 1;
    }
  }

  std::vector<StringRef> names;
  std::map<StringRef, StringRef> texts;
};
} // namespace

static const RuntimeFiles &getFiles() {
  static const RuntimeFiles files;
  return files;
}

ArrayRef<StringRef> RuntimeTable::getNames() { return getFiles().names; }

StringRef RuntimeTable::getText(StringRef name) {
  auto it = getFiles().texts.find(name);
  return it == getFiles().texts.end() ? StringRef() : it->second;
}

const RuntimeTable *RuntimeTable::lookup(StringRef name) {
  static std::mutex mutex;
  static std::map<StringRef, RuntimeTable> tables;
  StringRef text = getText(name);
  if (text.empty())
    return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  auto it = tables.find(name);
  if (it == tables.end()) {
    // The files are part of the program, and a test reads them all.
    RuntimeTable table = cantFail(parse(text, name));
    StringRef key = getFiles().texts.find(name)->first;
    it = tables.emplace(key, std::move(table)).first;
  }
  return &it->second;
}

static std::string listReleases(const RuntimeTable &table) {
  std::string text;
  for (const RuntimeTable::Release &release : table.getReleases())
    text += (text.empty() ? "" : ", ") + release.number.str();
  return text;
}

Expected<RuntimeProfile> RuntimeProfile::create(StringRef request) {
  StringRef name = request.split(':').first,
            version = request.split(':').second;
  RuntimeProfile profile;
  profile.table = RuntimeTable::lookup(name);
  if (!profile.table) {
    std::vector<std::string> known = {"any"};
    for (StringRef each : RuntimeTable::getNames())
      known.push_back(each.str());
    return createStringError("unknown runtime '" + name + "', expected " +
                             join(known, ", ") + suggestNearest(name, known));
  }
  ArrayRef<RuntimeTable::Release> releases = profile.table->getReleases();
  profile.release = releases.back();
  if (!request.contains(':'))
    return profile;
  // Without a minor number, the newest release of that major version.
  std::optional<RuntimeRelease> asked = RuntimeRelease::parse(version, ~0u);
  auto refuse = [&](const Twine &what) {
    return createStringError("runtime '" + name + "': " + what + " '" +
                             version + "', known releases are " +
                             listReleases(*profile.table));
  };
  if (!asked)
    return refuse("expected MAJOR[.MINOR], got");
  if (asked->major > releases.back().number.major ||
      *asked < releases.front().number)
    return refuse("unknown version");
  for (const RuntimeTable::Release &release : releases)
    if (!(*asked < release.number))
      profile.release = release;
  profile.isOlder = version.contains('.') && releases.back().number < *asked;
  return profile;
}

} // namespace mp
