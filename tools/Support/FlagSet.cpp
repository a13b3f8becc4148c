//===- FlagSet.cpp - Flags beside those of MLIR ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlagSet.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mp {

template <typename T, typename... Settings>
void FlagSet::addFlag(StringRef name, T &to, StringRef help,
                      Settings... settings) {
  keep(name, std::make_unique<cl::opt<T, true>>(
                 name, cl::desc(help), cl::location(to), cl::cat(category),
                 settings...));
}

void FlagSet::addPositional(std::string &to, StringRef help) {
  keep("", std::make_unique<cl::opt<std::string, true>>(
               cl::Positional, cl::desc(help), cl::location(to),
               cl::cat(category)));
}

void FlagSet::add(StringRef name, std::string &to, StringRef help,
                  StringRef value) {
  addFlag(name, to, help, cl::value_desc(value));
  if (!value.empty())
    needed.push_back({name, &to, value == "file" ? "a file name" : "a value"});
}

void FlagSet::add(StringRef name, int64_t &to, StringRef help) {
  addFlag(name, to, help);
}

void FlagSet::add(StringRef name, double &to, StringRef help) {
  addFlag(name, to, help);
}

void FlagSet::add(StringRef name, bool &to, StringRef help) {
  addFlag(name, to, help);
}

void FlagSet::addOptional(StringRef name, std::string &to, StringRef help,
                          StringRef value) {
  addFlag(name, to, help, cl::value_desc(value), cl::ValueOptional);
}

void FlagSet::addHidden(StringRef name, std::string &to) {
  addFlag(name, to, "", cl::ReallyHidden);
}

void FlagSet::add(StringRef name, std::vector<std::string> &to, StringRef help,
                  StringRef value) {
  keep(name, std::make_unique<cl::list<std::string, std::vector<std::string>>>(
                 name, cl::desc(help), cl::location(to), cl::value_desc(value),
                 cl::cat(category)));
}

void FlagSet::addCommas(StringRef name, std::vector<std::string> &to,
                        StringRef help, StringRef value) {
  add(name, to, help, value);
  flags.back().second->setMiscFlag(cl::CommaSeparated);
}

bool FlagSet::isGiven(StringRef name) const {
  return any_of(flags, [&](const auto &flag) {
    return flag.first == name && flag.second->getNumOccurrences();
  });
}

StringRef FlagSet::findGiven(ArrayRef<StringRef> names) const {
  auto given = find_if(names, [&](StringRef name) { return isGiven(name); });
  return given == names.end() ? StringRef() : *given;
}

StringRef FlagSet::findGiven() const {
  auto given = find_if(
      flags, [](const auto &flag) { return flag.second->getNumOccurrences(); });
  return given == flags.end() ? StringRef() : given->first;
}

Error FlagSet::checkValues() const {
  for (const NeededValue &needs : needed)
    if (isGiven(needs.name) && needs.value->empty())
      return createStringError((needs.name.size() == 1 ? "-" : "--") +
                               needs.name + ": expected " + needs.expected);
  return Error::success();
}

} // namespace mp
