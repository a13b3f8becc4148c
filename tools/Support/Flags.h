//===- Flags.h - The flags of a program or a sub-command --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table says what each flag is called, what stands behind its equals sign,
// what it does and where it belongs; arguments are read by it, help is printed
// from it, and --help=json shows it to other programs. Flags that are not in
// the table may be another parser's (OtherFlags).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_FLAGS_H
#define MPOPT_TOOLS_SUPPORT_FLAGS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mp {

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
  /// The values that there are; empty if they cannot be listed.
  std::vector<std::string> choices = {};
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

/// What another parser reads.
class OtherFlags {
public:
  virtual ~OtherFlags() = default;

  virtual bool isKnown(llvm::StringRef name) const = 0;
  /// Whether the next argument is its value where it has no equals sign.
  virtual bool needsValue(llvm::StringRef name) const = 0;
  /// As they stand on the command line.
  virtual std::vector<std::string> getNames() const = 0;

  /// The arguments that are for it, in order.
  std::vector<const char *> given;
};

class Flags {
public:
  /// `tool` begins messages: "mp-run bench". `help` is what --help prints.
  Flags(llvm::StringRef tool, llvm::StringRef help) : tool(tool), help(help) {}

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
  /// A subject of --help beside the flags: `--help=NAME`.
  void addTopic(llvm::StringRef name, std::function<void()> print);

  /// Arguments that are no flags go to `positional`, and those of `others` to
  /// them. An exit code if the run is over: help was printed, or the usage is
  /// wrong.
  std::optional<int> parse(llvm::ArrayRef<const char *> arguments,
                           std::vector<std::string> &positional,
                           OtherFlags *others = nullptr);

  bool isGiven(llvm::StringRef name) const;
  /// The first of `names` that is given; empty if none is.
  llvm::StringRef findGiven(llvm::ArrayRef<llvm::StringRef> names) const;
  /// The first that is given of a group, but for some of it.
  llvm::StringRef findGivenOf(llvm::StringRef group,
                              llvm::ArrayRef<llvm::StringRef> but = {}) const;

  /// Says what is wrong with the usage; returns the exit code.
  int usageError(const llvm::Twine &message) const;
  /// All rows, by their groups.
  void printRows(llvm::raw_ostream &os) const;

private:
  struct Topic {
    std::string name;
    std::function<void()> print;
  };
  /// An argument with dashes.
  struct Argument {
    llvm::StringRef text, spelling, name, value;
    bool hasValue;
  };
  using Rest = llvm::ArrayRef<const char *>;

  Flag &addRow(Flag row);
  Flag *find(llvm::StringRef name);
  const Flag *find(llvm::StringRef name) const {
    return const_cast<Flags *>(this)->find(name);
  }
  static Argument split(llvm::StringRef argument);
  Flag *findAttached(Argument &argument, const OtherFlags *others);
  std::optional<int> parseFlag(Argument argument, Rest &rest,
                               OtherFlags *others);
  std::optional<int> take(Flag &flag, Argument argument, Rest &rest,
                          const OtherFlags *others);
  int refuseUnknown(const Argument &argument, const OtherFlags *others) const;
  std::optional<int> printWanted(Rest arguments,
                                 const OtherFlags *others) const;
  int printTopic(llvm::StringRef name) const;
  std::vector<std::string> getTopicNames() const;
  void printCompletionPart(llvm::StringRef shell,
                           const OtherFlags *others) const;
  void printJSON() const;
  std::string suggest(llvm::StringRef spelling, const OtherFlags *others) const;

  llvm::StringRef tool, help;
  std::string group;
  std::vector<Flag> flags;
  std::vector<Topic> topics;
};

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_FLAGS_H
