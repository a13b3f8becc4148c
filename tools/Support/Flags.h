//===- Flags.h - The flags of a program or a sub-command --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments are read by a table of flags, help is printed from it, and
// --help=json shows it to other programs. Flags that are not in the table may
// be another parser's (OtherFlags).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_FLAGS_H
#define MPOPT_TOOLS_SUPPORT_FLAGS_H

#include "mp-opt/Options/FlagTable.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mp {

/// The flags that another parser reads.
class OtherFlags {
public:
  virtual ~OtherFlags() = default;

  virtual bool isKnown(llvm::StringRef name) const = 0;
  /// True if the next argument is the value of a flag without an equals sign.
  virtual bool needsValue(llvm::StringRef name) const = 0;
  /// The names as they are given on the command line.
  virtual std::vector<std::string> getNames() const = 0;

  /// The arguments for the other parser, in order.
  std::vector<const char *> given;
};

class Flags : public FlagTable {
public:
  /// `tool` begins messages: "mp-run bench". `help` is what --help prints.
  Flags(llvm::StringRef tool, llvm::StringRef help) : tool(tool), help(help) {}

  /// Adds a topic of --help, which is not about flags: `--help=NAME`.
  void addTopic(llvm::StringRef name, std::function<void()> print);

  /// Parses the arguments. Arguments that are not flags go to `positional`, and
  /// flags of the other parser go to `others`. Returns an exit code if the run
  /// is over: help was printed, or the usage is wrong.
  std::optional<int> parse(llvm::ArrayRef<const char *> arguments,
                           std::vector<std::string> &positional,
                           OtherFlags *others = nullptr);

  /// True if the table has all flags among the arguments: no other parser is
  /// needed.
  bool knowsAll(llvm::ArrayRef<const char *> arguments);

  /// Reports an error of usage; returns the exit code.
  int usageError(const llvm::Twine &message) const;
  /// Prints all rows by their groups.
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
  void complete(Rest words, const OtherFlags *others) const;
  std::string findMeantFlag(llvm::StringRef argument) const;
  std::string suggest(llvm::StringRef spelling, const OtherFlags *others) const;

  llvm::StringRef tool, help;
  std::vector<Topic> topics;
};

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_FLAGS_H
