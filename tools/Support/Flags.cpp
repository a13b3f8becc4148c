//===- Flags.cpp - The flags of a sub-command -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flags.h"
#include "ExitCodes.h"

#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;

namespace mp {

/// As it stands on the command line.
static std::string spell(StringRef name) {
  return ((name.size() == 1 ? "-" : "--") + name).str();
}

int Flags::usageError(const Twine &message) const {
  errs() << tool << ": error: " << message << "\n";
  return exitUsage;
}

void Flags::add(StringRef name, bool &to) {
  flags.push_back({name.str(), "", false, false, false, [&to](StringRef) {
                     to = true;
                     return true;
                   }});
}

void Flags::add(StringRef name, std::string &to, StringRef expected) {
  flags.push_back(
      {name.str(), expected.str(), false, false, false, [&to](StringRef value) {
         to = value.str();
         return !value.empty();
       }});
}

void Flags::add(StringRef name, std::optional<std::string> &to,
                StringRef expected) {
  flags.push_back(
      {name.str(), expected.str(), false, false, false, [&to](StringRef value) {
         to = value.str();
         return !value.empty();
       }});
}

void Flags::add(StringRef name, double &to, double least) {
  std::string expected = "a number of at least " + formatv("{0}", least).str();
  flags.push_back({name.str(), expected, false, false, false,
                   [&to, least](StringRef value) {
                     return !value.getAsDouble(to) && std::isfinite(to) &&
                            to >= least;
                   }});
}

void Flags::add(StringRef name, uint64_t &to, uint64_t least, uint64_t most) {
  std::string expected = "a number";
  if (most != UINT64_MAX)
    expected += formatv(" from {0} to {1}", least, most).str();
  else if (least)
    expected += formatv(" of at least {0}", least).str();
  flags.push_back({name.str(), expected, false, false, false,
                   [&to, least, most](StringRef value) {
                     return !value.getAsInteger(10, to) && to >= least &&
                            to <= most;
                   }});
}

void Flags::add(StringRef name, std::vector<std::string> &to,
                StringRef expected) {
  flags.push_back(
      {name.str(), expected.str(), false, true, false, [&to](StringRef value) {
         to.push_back(value.str());
         return !value.empty();
       }});
}

void Flags::addChoice(StringRef name, std::string &to,
                      ArrayRef<StringRef> choices) {
  std::string expected = llvm::join(choices.drop_back(), ", ") + " or ";
  expected += choices.back();
  std::vector<StringRef> known = choices.vec();
  flags.push_back({name.str(), expected, false, false, false,
                   [&to, known](StringRef value) {
                     to = value.str();
                     return llvm::is_contained(known, value);
                   },
                   known});
}

void Flags::addOptional(StringRef name, StringRef expected,
                        std::function<bool(StringRef value)> set) {
  flags.push_back(
      {name.str(), expected.str(), true, false, false, std::move(set)});
}

std::optional<int> Flags::parseFlag(StringRef argument,
                                    ArrayRef<const char *> &rest) {
  auto [spelling, value] = argument.split('=');
  bool hasValue = spelling.size() < argument.size();
  StringRef name = spelling.ltrim('-');
  // "-o" takes its value with or without a space.
  if (!argument.starts_with("--") && argument.size() > 2 && !hasValue) {
    name = argument.substr(1, 1);
    value = argument.drop_front(2);
    hasValue = true;
  }
  auto flag = llvm::find_if(
      flags, [&](const Flag &known) { return known.name == name; });
  if (flag == flags.end()) {
    std::vector<std::string> names = {"--help", "--version"};
    for (const Flag &known : flags)
      names.push_back(spell(known.name));
    std::string nearest = suggestNearest(spelling, names);
    return usageError(
        "unknown flag '" + spelling + "'" +
        (nearest.empty() ? "; see " + tool + " --help" : Twine(nearest)));
  }
  std::string shown = spell(flag->name);
  if (flag->expected.empty() && hasValue)
    return usageError(shown + ": takes no value, got '" + value + "'");
  if (flag->isGiven && !flag->isList)
    return usageError(shown + ": given twice");
  if (!flag->expected.empty() && !flag->isOptional && !hasValue) {
    if (rest.empty())
      return usageError(shown + ": expected " + flag->expected);
    value = rest.front();
    rest = rest.drop_front();
  }
  flag->isGiven = true;
  if (!flag->set(value))
    return usageError(shown + ": expected " + flag->expected + ", got '" +
                      value + "'" + suggestNearest(value, flag->choices));
  return std::nullopt;
}

std::optional<int> Flags::parse(ArrayRef<const char *> arguments,
                                std::vector<std::string> &positional) {
  bool onlyPositional = false;
  while (!arguments.empty()) {
    StringRef argument = arguments.front();
    arguments = arguments.drop_front();
    if (onlyPositional || !argument.starts_with("-") || argument == "-") {
      positional.push_back(argument.str());
    } else if (argument == "--") {
      onlyPositional = true;
    } else if (argument == "--help" || argument == "-h") {
      outs() << help;
      return exitOk;
    } else if (argument == "--version") {
      outs() << tool.split(' ').first << " " MPOPT_VERSION " (LLVM "
             << LLVM_VERSION_STRING << ")\n";
      return exitOk;
    } else if (std::optional<int> code = parseFlag(argument, arguments)) {
      return code;
    }
  }
  return std::nullopt;
}

} // namespace mp
