//===- FlagTable.h - What a program or a call may be asked for --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table says what each flag is called, what stands behind its equals sign,
// what it does and where it belongs. Programs read arguments by it (Flags in
// tools/Support), the C API reads names and texts; both say the same of what is
// wrong with them.
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

/// As it stands on a command line: "-o", "--emit".
std::string spellFlag(llvm::StringRef name);

/// One row of the table.
struct Flag {
  /// Without dashes; names of one letter have one dash, others two.
  std::string name;
  /// What stands behind the equals sign: "FILE"; empty where nothing does.
  std::string value;
  std::string help, group;
  /// What values are, in messages.
  std::string expected;
  std::vector<std::string> synonyms = {};
  /// Names that other programs have for it: taken, and in no list.
  std::vector<std::string> foreignNames = {};
  /// The values that there are; empty if they cannot be listed.
  std::vector<std::string> choices = {};
  /// Words of other programs, each with the choice that it stands for.
  std::vector<std::pair<std::string, std::string>> foreignChoices = {};
  /// Values that are offered where others may be given as well.
  std::vector<std::string> words = {};
  /// The value may be left out.
  bool isOptional = false;
  bool isRepeatable = false;
  /// In no list.
  bool isHidden = false;
  /// How often it has been given.
  unsigned count = 0;
  /// False if the value is not as expected.
  std::function<bool(llvm::StringRef value)> set = nullptr;
};

class FlagTable {
public:
  /// Flags that are added from here on belong to it.
  void beginGroup(llvm::StringRef title) { group = title.str(); }

  // Each returns its row, until the next is added.

  /// `--name`, or `--name=false` to take it back.
  Flag &add(llvm::StringRef name, bool &to, llvm::StringRef help);
  /// `--name=VALUE` or `--name VALUE`.
  Flag &add(llvm::StringRef name, std::string &to, llvm::StringRef help,
            llvm::StringRef value);
  Flag &add(llvm::StringRef name, std::optional<std::string> &to,
            llvm::StringRef help, llvm::StringRef value);
  Flag &add(llvm::StringRef name, double &to, llvm::StringRef help,
            double least = -HUGE_VAL);
  Flag &add(llvm::StringRef name, uint64_t &to, llvm::StringRef help,
            uint64_t least = 0, uint64_t most = UINT64_MAX);
  Flag &add(llvm::StringRef name, int64_t &to, llvm::StringRef help);
  /// Repeatable.
  Flag &add(llvm::StringRef name, std::vector<std::string> &to,
            llvm::StringRef help, llvm::StringRef value);
  /// Repeatable, and each may give several: "a,b".
  Flag &addCommas(llvm::StringRef name, std::vector<std::string> &to,
                  llvm::StringRef help, llvm::StringRef value);
  /// `set` gets the place of the value among `choices`.
  Flag &addChoice(llvm::StringRef name, llvm::StringRef help,
                  llvm::ArrayRef<llvm::StringRef> choices,
                  std::function<void(size_t)> set);
  Flag &addChoice(llvm::StringRef name, std::string &to, llvm::StringRef help,
                  llvm::ArrayRef<llvm::StringRef> choices);
  /// `--name` or `--name=VALUE`; the former has an empty value. `set` returns
  /// false for values that are not as expected.
  Flag &addOptional(llvm::StringRef name, llvm::StringRef help,
                    llvm::StringRef value,
                    std::function<bool(llvm::StringRef value)> set);
  /// Without a value, `to` stays as it is.
  Flag &addOptional(llvm::StringRef name, std::string &to, llvm::StringRef help,
                    llvm::StringRef value);
  /// Flags of other programs that have no counterpart here: messages say `hint`
  /// of them.
  void addHint(llvm::ArrayRef<llvm::StringRef> names, llvm::StringRef hint);

  /// Gives a flag, called as on the command line without its dashes, a value,
  /// or none. Fails, as the command line does, where there is no such flag,
  /// where it is given twice, or where the value is not as expected.
  llvm::Error give(llvm::StringRef name, std::optional<llvm::StringRef> value);

  bool isGiven(llvm::StringRef name) const;
  /// The first of `names` that is given; empty if none is.
  llvm::StringRef findGiven(llvm::ArrayRef<llvm::StringRef> names) const;
  /// The first that is given of a group, but for some of it.
  llvm::StringRef findGivenOf(llvm::StringRef group,
                              llvm::ArrayRef<llvm::StringRef> but = {}) const;

  /// For other programs: an array of objects.
  void printJSON(llvm::raw_ostream &os) const;

protected:
  Flag &addRow(Flag row);
  /// By a name of its own, or else one of another program; underscores are
  /// dashes there, and letters of the other case the same.
  Flag *find(llvm::StringRef name);
  const Flag *find(llvm::StringRef name) const {
    return const_cast<FlagTable *>(this)->find(name);
  }
  llvm::ArrayRef<Flag> getRows() const { return flags; }
  /// The hint of a name that is no flag; empty if there is none.
  llvm::StringRef findHint(llvm::StringRef name) const;
  /// The names of all that are shown, as they are spelt.
  std::vector<std::string> getSpellings() const;
  /// Fails where the flag may not be given, or not once more, before its value
  /// is known.
  static llvm::Error count(Flag &flag);
  static llvm::Error setValue(Flag &flag, llvm::StringRef value, bool hasValue);

private:
  std::string group;
  std::vector<Flag> flags;
  std::vector<std::pair<std::string, std::string>> hints;
};

} // namespace mp

#endif // MPOPT_OPTIONS_FLAGTABLE_H
