//===- Flags.h - The flags of a sub-command ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's command line parser has one set of flags for the whole process; tools
// with sub-commands that share little have one of these for each.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_FLAGS_H
#define MPOPT_TOOLS_SUPPORT_FLAGS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mp {

class Flags {
public:
  /// `tool` begins messages: "mp-run bench". `help` is what --help prints.
  Flags(llvm::StringRef tool, llvm::StringRef help) : tool(tool), help(help) {}

  /// A flag `--name`.
  void add(llvm::StringRef name, bool &to);
  /// Flags `--name=VALUE` or `--name VALUE`; short names are one letter and
  /// one dash. `expected` describes values in messages: "a file name".
  void add(llvm::StringRef name, std::string &to, llvm::StringRef expected);
  void add(llvm::StringRef name, std::optional<std::string> &to,
           llvm::StringRef expected);
  void add(llvm::StringRef name, double &to, double least);
  void add(llvm::StringRef name, uint64_t &to, uint64_t least = 0,
           uint64_t most = UINT64_MAX);
  /// Repeatable.
  void add(llvm::StringRef name, std::vector<std::string> &to,
           llvm::StringRef expected);
  /// One of `choices`.
  void addChoice(llvm::StringRef name, std::string &to,
                 llvm::ArrayRef<llvm::StringRef> choices);
  /// `--name` or `--name=VALUE`; the former has an empty value. `set` returns
  /// false for values that are not as expected.
  void addOptional(llvm::StringRef name, llvm::StringRef expected,
                   std::function<bool(llvm::StringRef value)> set);

  /// Arguments that are no flags go to `positional`. An exit code if the run
  /// is over: help was printed, or the usage is wrong.
  std::optional<int> parse(llvm::ArrayRef<const char *> arguments,
                           std::vector<std::string> &positional);

  /// Says what is wrong with the usage; returns the exit code.
  int usageError(const llvm::Twine &message) const;

private:
  struct Flag {
    std::string name;
    /// What values are; empty for flags without.
    std::string expected;
    bool isOptional = false, isList = false, isGiven = false;
    /// False if the value is not as expected.
    std::function<bool(llvm::StringRef value)> set;
    /// The nearest of them to a wrong value is suggested.
    std::vector<llvm::StringRef> choices = {};
  };
  std::optional<int> parseFlag(llvm::StringRef argument,
                               llvm::ArrayRef<const char *> &rest);

  llvm::StringRef tool, help;
  std::vector<Flag> flags;
};

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_FLAGS_H
