//===- FlagTable.cpp - The table of flags ---------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Options/FlagTable.h"

#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace mp {

std::string spellFlag(StringRef name) {
  return ((name.size() == 1 ? "-" : "--") + name).str();
}

/// "a, b or c".
static std::string enumerate(ArrayRef<std::string> words) {
  return words.size() == 1
             ? words.front()
             : llvm::join(words.drop_back(), ", ") + " or " + words.back();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The phrase used in messages for a value that help calls `value`.
static StringRef describeValue(StringRef value) {
  return StringSwitch<StringRef>(value)
      .Case("FILE", "a file name")
      .Case("DIR", "a folder")
      .Case("NODE", "the name of a node")
      .Case("REGEX", "a regular expression")
      .Case("N", "a whole number")
      .Case("X", "a number")
      .Default(value);
}

Flag &FlagTable::addRow(Flag row) {
  row.group = group;
  if (row.expected.empty())
    row.expected = describeValue(row.value).str();
  flags.push_back(std::move(row));
  return flags.back();
}

Flag &FlagTable::add(StringRef name, bool &to, StringRef help) {
  Flag row{name.str(), "", help.str(), "", "true or false"};
  row.isOptional = true;
  row.set = [&to](StringRef value) {
    to = value.empty() || value.equals_insensitive("true") || value == "1";
    return to || value.equals_insensitive("false") || value == "0";
  };
  return addRow(std::move(row));
}

/// Sets a text that must not be empty.
template <typename T>
static Flag makeText(StringRef name, T &to, StringRef help, StringRef value) {
  Flag row{name.str(), value.str(), help.str(), "", ""};
  row.set = [&to](StringRef text) {
    to = text.str();
    return !text.empty();
  };
  return row;
}

Flag &FlagTable::add(StringRef name, std::string &to, StringRef help,
                     StringRef value) {
  return addRow(makeText(name, to, help, value));
}

Flag &FlagTable::add(StringRef name, std::optional<std::string> &to,
                     StringRef help, StringRef value) {
  return addRow(makeText(name, to, help, value));
}

Flag &FlagTable::add(StringRef name, double &to, StringRef help, double least) {
  std::string expected = "a number";
  if (least > -HUGE_VAL)
    expected += " of at least " + formatv("{0}", least).str();
  Flag row{name.str(), "X", help.str(), "", expected};
  row.set = [&to, least](StringRef text) {
    // Without a bound, the users of the value check its range.
    return !text.getAsDouble(to) &&
           (least == -HUGE_VAL || (std::isfinite(to) && to >= least));
  };
  return addRow(std::move(row));
}

Flag &FlagTable::add(StringRef name, uint64_t &to, StringRef help,
                     uint64_t least, uint64_t most) {
  std::string expected = "a number";
  if (most != UINT64_MAX)
    expected += formatv(" from {0} to {1}", least, most).str();
  else if (least)
    expected += formatv(" of at least {0}", least).str();
  Flag row{name.str(), "N", help.str(), "", expected};
  row.set = [&to, least, most](StringRef text) {
    return !text.getAsInteger(10, to) && to >= least && to <= most;
  };
  return addRow(std::move(row));
}

Flag &FlagTable::add(StringRef name, int64_t &to, StringRef help) {
  Flag row{name.str(), "N", help.str(), "", ""};
  row.set = [&to](StringRef text) { return !text.getAsInteger(10, to); };
  return addRow(std::move(row));
}

Flag &FlagTable::add(StringRef name, std::vector<std::string> &to,
                     StringRef help, StringRef value) {
  Flag row{name.str(), value.str(), help.str(), "", ""};
  row.isRepeatable = true;
  row.set = [&to](StringRef text) {
    to.push_back(text.str());
    return !text.empty();
  };
  return addRow(std::move(row));
}

Flag &FlagTable::addCommas(StringRef name, std::vector<std::string> &to,
                           StringRef help, StringRef value) {
  Flag &row = add(name, to, help, value);
  row.set = [&to](StringRef text) {
    for (StringRef part : llvm::split(text, ','))
      to.push_back(part.str());
    return !text.empty();
  };
  return row;
}

Flag &FlagTable::addChoice(StringRef name, StringRef help,
                           ArrayRef<StringRef> choices,
                           std::function<void(size_t)> set) {
  Flag row{name.str(), llvm::join(choices, "|"), help.str(), "", ""};
  for (StringRef choice : choices)
    row.choices.push_back(choice.str());
  row.expected = enumerate(row.choices);
  row.set = [set = std::move(set), known = row.choices](StringRef text) {
    auto found = llvm::find(known, text);
    if (found == known.end())
      return false;
    set(size_t(found - known.begin()));
    return true;
  };
  return addRow(std::move(row));
}

Flag &FlagTable::addChoice(StringRef name, std::string &to, StringRef help,
                           ArrayRef<StringRef> choices) {
  return addChoice(
      name, help, choices,
      [&to, known = choices.vec()](size_t place) { to = known[place].str(); });
}

Flag &FlagTable::addOptional(StringRef name, StringRef help, StringRef value,
                             std::function<bool(StringRef value)> set) {
  Flag row{name.str(), value.str(), help.str(), "", ""};
  row.isOptional = true;
  row.set = std::move(set);
  return addRow(std::move(row));
}

Flag &FlagTable::addOptional(StringRef name, std::string &to, StringRef help,
                             StringRef value) {
  return addOptional(name, help, value, [&to](StringRef text) {
    to = text.str();
    return true;
  });
}

/// The canonical spelling of "batch_size", "Batch-Size" and "batch-size".
static std::string unify(StringRef name) {
  std::string text = name.lower();
  llvm::replace(text, '_', '-');
  return text;
}

void FlagTable::addHint(ArrayRef<StringRef> names, StringRef hint) {
  for (StringRef name : names)
    hints.emplace_back(name, hint);
}

StringRef FlagTable::findHint(StringRef name) const {
  auto found = llvm::find_if(
      hints, [&](const auto &hint) { return hint.first == unify(name); });
  return found == hints.end() ? StringRef() : found->second;
}

Flag *FlagTable::find(StringRef name) {
  auto found = llvm::find_if(flags, [&](const Flag &flag) {
    return flag.name == name || llvm::is_contained(flag.synonyms, name);
  });
  // Names of one letter are case-sensitive.
  if (found == flags.end() && name.size() > 1)
    found = llvm::find_if(flags, [&, name = unify(name)](const Flag &flag) {
      return flag.name == name || llvm::is_contained(flag.synonyms, name) ||
             llvm::is_contained(flag.foreignNames, name);
    });
  return found == flags.end() ? nullptr : &*found;
}

bool FlagTable::isGiven(StringRef name) const {
  const Flag *flag = find(name);
  return flag && flag->count;
}

StringRef FlagTable::findGiven(ArrayRef<StringRef> names) const {
  const auto *given =
      llvm::find_if(names, [&](StringRef name) { return isGiven(name); });
  return given == names.end() ? StringRef() : *given;
}

StringRef FlagTable::findGivenOf(StringRef group,
                                 ArrayRef<StringRef> but) const {
  for (const Flag &flag : flags)
    if (flag.group == group && flag.count &&
        !llvm::is_contained(but, flag.name))
      return flag.name;
  return "";
}

void FlagTable::printJSON(raw_ostream &os) const {
  json::OStream json(os, 2);
  json.array([&] {
    for (const Flag &flag : flags)
      if (!flag.isHidden)
        json.object([&] {
          json.attribute("flag", spellFlag(flag.name));
          json.attribute("value", flag.value);
          json.attribute("help", flag.help);
          json.attribute("group", flag.group);
          json.attribute("expected", flag.expected);
          json.attribute("synonyms", json::Array(llvm::map_range(flag.synonyms,
                                                                 spellFlag)));
          json.attribute("choices", json::Array(flag.choices));
          json.attribute("words", json::Array(flag.words));
          json.attribute("optional", flag.isOptional);
          json.attribute("repeatable", flag.isRepeatable);
        });
  });
  os << "\n";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Error FlagTable::count(Flag &flag) {
  if (flag.count && !flag.isRepeatable)
    return createStringError(spellFlag(flag.name) + ": given twice");
  ++flag.count;
  return Error::success();
}

/// Returns the choice that the value means: it may differ in case, or be a word
/// of another program. Returns the value itself if there is none.
static StringRef findChoice(const Flag &flag, StringRef value) {
  if (llvm::is_contained(flag.choices, value))
    return value;
  std::string text = unify(value);
  for (StringRef choice : flag.choices)
    if (text == unify(choice))
      return choice;
  for (const auto &[word, choice] : flag.foreignChoices)
    if (text == word)
      return choice;
  return value;
}

Error FlagTable::setValue(Flag &flag, StringRef value, bool hasValue) {
  value = findChoice(flag, value);
  std::string shown = spellFlag(flag.name);
  if (flag.isOptional && hasValue && value.empty())
    return createStringError(shown + ": expected " + flag.expected +
                             " after '='");
  if (!flag.set(value))
    return createStringError(shown + ": expected " + flag.expected + ", got '" +
                             value + "'" + suggestNearest(value, flag.choices));
  return Error::success();
}

std::vector<std::string> FlagTable::getSpellings() const {
  std::vector<std::string> names;
  for (const Flag &flag : flags) {
    if (flag.isHidden)
      continue;
    names.push_back(spellFlag(flag.name));
    for (StringRef synonym : flag.synonyms)
      names.push_back(spellFlag(synonym));
  }
  return names;
}

Error FlagTable::give(StringRef name, std::optional<StringRef> value) {
  Flag *flag = find(name);
  if (StringRef hint = findHint(name); !flag && !hint.empty())
    return createStringError("unknown option '" + name + "'; " + hint);
  if (!flag)
    return createStringError("unknown option '" + name + "'" +
                             suggestNearest(spellFlag(name), getSpellings()));
  if (Error failed = count(*flag))
    return failed;
  if (!value && !flag->isOptional)
    return createStringError(spellFlag(flag->name) + ": expected " +
                             flag->expected);
  return setValue(*flag, value.value_or(""), value.has_value());
}

} // namespace mp
