//===- FlagTable.h - The table of flags -------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table of flags with their names, values, effects and groups. Programs parse
// arguments with it (Flags in tools/Support), and the C API parses names and
// texts. Both report the same errors.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPTIONS_FLAGTABLE_H
#define MPOPT_OPTIONS_FLAGTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mp {

/// Formats a flag as on a command line: "-o", "--emit".
std::string spellFlag(llvm::StringRef name);

/// One row of the table.
struct Flag {
  /// The name without dashes; names of one letter have one dash, others two.
  std::string name;
  /// The placeholder of the value after the equals sign: "FILE"; empty if the
  /// flag takes no value.
  std::string value;
  std::string help, group;
  /// Describes valid values in messages.
  std::string expected;
  std::vector<std::string> synonyms = {};
  /// Names that other programs have for it: taken, and in no list.
  std::vector<std::string> foreignNames = {};
  /// All valid values; empty if they cannot be listed.
  std::vector<std::string> choices = {};
  /// Words of other programs, each with the equivalent choice.
  std::vector<std::pair<std::string, std::string>> foreignChoices = {};
  /// Suggested values if other values are valid as well.
  std::vector<std::string> words = {};
  /// True if the value may be omitted.
  bool isOptional = false;
  bool isRepeatable = false;
  /// The flag is not listed.
  bool isHidden = false;
  /// The number of times that it has been given.
  unsigned count = 0;
  /// False if the value is not as expected.
  std::function<bool(llvm::StringRef value)> set = nullptr;
};

class FlagTable {
public:
  /// Begins a group, to which all flags belong that are added later.
  void beginGroup(llvm::StringRef title) { group = title.str(); }

  // Each of these functions returns the new row, which is valid until the next
  // one is added.

  /// Adds `--name`, or `--name=false` to reset it.
  Flag &add(llvm::StringRef name, bool &to, llvm::StringRef help);
  /// Adds `--name=VALUE` or `--name VALUE`.
  Flag &add(llvm::StringRef name, std::string &to, llvm::StringRef help,
            llvm::StringRef value);
  Flag &add(llvm::StringRef name, std::optional<std::string> &to,
            llvm::StringRef help, llvm::StringRef value);
  Flag &add(llvm::StringRef name, double &to, llvm::StringRef help,
            double least = -HUGE_VAL);
  Flag &add(llvm::StringRef name, uint64_t &to, llvm::StringRef help,
            uint64_t least = 0, uint64_t most = UINT64_MAX);
  Flag &add(llvm::StringRef name, int64_t &to, llvm::StringRef help);
  /// Adds a repeatable flag.
  Flag &add(llvm::StringRef name, std::vector<std::string> &to,
            llvm::StringRef help, llvm::StringRef value);
  /// Adds a repeatable flag, each use of which may give several values: "a,b".
  Flag &addCommas(llvm::StringRef name, std::vector<std::string> &to,
                  llvm::StringRef help, llvm::StringRef value);
  /// Adds a flag with a choice; `set` receives its index among `choices`.
  Flag &addChoice(llvm::StringRef name, llvm::StringRef help,
                  llvm::ArrayRef<llvm::StringRef> choices,
                  std::function<void(size_t)> set);
  Flag &addChoice(llvm::StringRef name, std::string &to, llvm::StringRef help,
                  llvm::ArrayRef<llvm::StringRef> choices);
  /// Adds `--name` or `--name=VALUE`; the former has an empty value. `set`
  /// returns false for invalid values.
  Flag &addOptional(llvm::StringRef name, llvm::StringRef help,
                    llvm::StringRef value,
                    std::function<bool(llvm::StringRef value)> set);
  /// Without a value, `to` stays unchanged.
  Flag &addOptional(llvm::StringRef name, std::string &to, llvm::StringRef help,
                    llvm::StringRef value);
  /// Adds names of other programs' flags without a counterpart here: messages
  /// about them print `hint`.
  void addHint(llvm::ArrayRef<llvm::StringRef> names, llvm::StringRef hint);

  /// Sets a flag, by its name on the command line without dashes, to a value or
  /// none. Fails as the command line does if the flag does not exist, is given
  /// twice, or if the value is invalid.
  llvm::Error give(llvm::StringRef name, std::optional<llvm::StringRef> value);

  bool isGiven(llvm::StringRef name) const;
  /// The first of `names` that is given; empty if none is.
  llvm::StringRef findGiven(llvm::ArrayRef<llvm::StringRef> names) const;
  /// The first given flag of a group, except those in `but`.
  llvm::StringRef findGivenOf(llvm::StringRef group,
                              llvm::ArrayRef<llvm::StringRef> but = {}) const;

  /// Prints an array of objects for other programs.
  void printJSON(llvm::raw_ostream &os) const;

protected:
  Flag &addRow(Flag row);
  /// Finds a flag by its own name, or else by a longer spelling in which
  /// underscores equal dashes and case does not matter, also of a name that
  /// other programs have for it.
  Flag *find(llvm::StringRef name);
  const Flag *find(llvm::StringRef name) const {
    return const_cast<FlagTable *>(this)->find(name);
  }
  llvm::ArrayRef<Flag> getRows() const { return flags; }
  /// A hint for a name that is not a flag; empty if there is none.
  llvm::StringRef findHint(llvm::StringRef name) const;
  /// The spellings of all flags that are listed.
  std::vector<std::string> getSpellings() const;
  /// Fails before the value is known if the flag may not be given, or not once
  /// more.
  static llvm::Error count(Flag &flag);
  static llvm::Error setValue(Flag &flag, llvm::StringRef value, bool hasValue);

private:
  std::string group;
  std::vector<Flag> flags;
  std::vector<std::pair<std::string, std::string>> hints;
};

} // namespace mp

#endif // MPOPT_OPTIONS_FLAGTABLE_H
