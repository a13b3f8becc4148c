//===- FlagSet.h - Flags beside those of MLIR -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tool that takes MLIR's flags as well reads its own with LLVM's command line
// parser. One row here is one flag: its name, what it sets, its help.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_FLAGSET_H
#define MPOPT_TOOLS_SUPPORT_FLAGSET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace mp {

/// The flags live as long as this, and what they set must. Names and helps are
/// not copied.
class FlagSet {
public:
  /// `title` heads them in the list of all flags.
  explicit FlagSet(llvm::StringRef title) : category(title) {}

  /// The argument that is no flag.
  void addPositional(std::string &to, llvm::StringRef help);
  /// `value` is what stands behind the equals sign in the list of all flags;
  /// where it is named, it must not be empty (checkValues).
  void add(llvm::StringRef name, std::string &to, llvm::StringRef help,
           llvm::StringRef value = "");
  void add(llvm::StringRef name, int64_t &to, llvm::StringRef help);
  void add(llvm::StringRef name, double &to, llvm::StringRef help);
  void add(llvm::StringRef name, bool &to, llvm::StringRef help);
  /// Repeatable.
  void add(llvm::StringRef name, std::vector<std::string> &to,
           llvm::StringRef help, llvm::StringRef value = "");
  /// Repeatable, and each may give several: "a,b".
  void addCommas(llvm::StringRef name, std::vector<std::string> &to,
                 llvm::StringRef help, llvm::StringRef value = "");
  /// Without a value, `to` stays as it is.
  void addOptional(llvm::StringRef name, std::string &to, llvm::StringRef help,
                   llvm::StringRef value = "");
  template <typename T>
  void addChoice(llvm::StringRef name, T &to, llvm::StringRef help,
                 const llvm::cl::ValuesClass &values) {
    keep(name, std::make_unique<llvm::cl::opt<T, true>>(
                   name, llvm::cl::desc(help), llvm::cl::location(to), values,
                   llvm::cl::cat(category)));
  }
  /// Not shown in any list.
  void addHidden(llvm::StringRef name, std::string &to);

  bool isGiven(llvm::StringRef name) const;
  /// The first of `names` that is given; empty if none is.
  llvm::StringRef findGiven(llvm::ArrayRef<llvm::StringRef> names) const;
  /// The first of all, in the order in which they were added.
  llvm::StringRef findGiven() const;
  /// Fails where one is given without the value that it needs.
  llvm::Error checkValues() const;

private:
  template <typename T, typename... Settings>
  void addFlag(llvm::StringRef name, T &to, llvm::StringRef help,
               Settings... settings);
  void keep(llvm::StringRef name, std::unique_ptr<llvm::cl::Option> flag) {
    flags.emplace_back(name, std::move(flag));
  }

  llvm::cl::OptionCategory category;
  std::vector<std::pair<llvm::StringRef, std::unique_ptr<llvm::cl::Option>>>
      flags;
  /// Flags that need a value, and what that is.
  struct NeededValue {
    llvm::StringRef name;
    const std::string *value;
    llvm::StringRef expected;
  };
  std::vector<NeededValue> needed;
};

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_FLAGSET_H
