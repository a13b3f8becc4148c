//===- Flags.cpp - The flags of a program or a sub-command ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flags.h"
#include "Completion.h"
#include "ExitCodes.h"
#include "Message.h"

#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/raw_ostream.h"

#include <deque>

using namespace llvm;

namespace mp {

int Flags::usageError(const Twine &message) const {
  printMessage(tool, mlir::DiagnosticSeverity::Error, message);
  return exitUsage;
}

void Flags::addTopic(StringRef name, std::function<void()> print) {
  topics.push_back({name.str(), std::move(print)});
}

//===----------------------------------------------------------------------===//
// Help
//===----------------------------------------------------------------------===//

/// "--verify[=DATA]".
static std::string describe(const Flag &flag) {
  std::string text = spellFlag(flag.name);
  if (flag.value.empty())
    return text;
  if (flag.isOptional)
    return text + "[=" + flag.value + "]";
  return text + (flag.name.size() == 1 ? " " : "=") + flag.value;
}

void Flags::printRows(raw_ostream &os) const {
  constexpr unsigned column = 24;
  StringRef last;
  for (const Flag &flag : getRows()) {
    if (flag.isHidden)
      continue;
    if (flag.group != last)
      os << "\n" << flag.group << ":\n";
    last = flag.group;
    std::string text = "  " + describe(flag);
    for (StringRef synonym : flag.synonyms)
      text += ", " + spellFlag(synonym);
    os << left_justify(text, column - 1);
    if (text.size() > column - 2)
      os << "\n" << std::string(column - 1, ' ');
    os << " " << flag.help << "\n";
  }
}

std::vector<std::string> Flags::getTopicNames() const {
  std::vector<std::string> names;
  for (const Topic &topic : topics)
    names.push_back(topic.name);
  names.push_back("json");
  return names;
}

int Flags::printTopic(StringRef name) const {
  for (const Topic &topic : topics)
    if (topic.name == name) {
      topic.print();
      return exitOk;
    }
  std::vector<std::string> names = getTopicNames();
  if (name != "json")
    return usageError("--help: unknown topic '" + name + "', expected " +
                      join(ArrayRef(names).drop_back(), ", ") + " or " +
                      names.back() + suggestNearest(name, names));
  printJSON(outs());
  return exitOk;
}

/// Answers a request for completion: prints candidates for the last word, or
/// without words this command as a candidate.
void Flags::complete(Rest words, const OtherFlags *others) const {
  if (words.empty()) {
    outs() << tool.split(' ').second << "\t"
           << help.split('\n').first.split(": ").second << "\n";
    return;
  }
  std::vector<Flag> listed;
  llvm::copy_if(getRows(), std::back_inserter(listed),
                [](const Flag &flag) { return !flag.isHidden; });
  Flag topic{"help", "TOPIC", "what there is", "", ""};
  topic.choices = getTopicNames();
  topic.isOptional = true;
  listed.push_back(std::move(topic));
  listed.push_back({"h", "", "what there is", "", ""});
  listed.push_back({"version", "", "print the version", "", ""});
  if (!tool.contains(' '))
    listed.push_back(makeCompletionFlag());
  printCandidates(listed, others, words, outs());
}

/// Help and the version are printed even if other arguments are wrong.
std::optional<int> Flags::printWanted(Rest arguments,
                                      const OtherFlags *others) const {
  if (!arguments.empty() && arguments.front() == completeFlag) {
    complete(arguments.drop_front(), others);
    return exitOk;
  }
  for (const char *text : arguments) {
    if (StringRef(text) == "--")
      break;
    if (*text != '-')
      continue;
    Argument argument = split(text);
    if (argument.name == "version" && !argument.hasValue) {
      outs() << tool.split(' ').first << " " MPOPT_VERSION " (LLVM "
             << LLVM_VERSION_STRING << ")\n";
      return exitOk;
    }
    if (argument.name != "help" && argument.name != "h")
      continue;
    if (argument.hasValue)
      return printTopic(argument.value);
    outs() << help;
    return exitOk;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

Flags::Argument Flags::split(StringRef text) {
  auto [spelling, value] = text.split('=');
  StringRef name = spelling.drop_front(spelling.starts_with("--") ? 2 : 1);
  return {text, spelling, name, value, spelling.size() < text.size()};
}

/// The name that is most likely meant: the nearest one, else the shortest one
/// with the same beginning.
std::string Flags::suggest(StringRef spelling, const OtherFlags *others) const {
  std::vector<std::string> names = {"--help", "--version"};
  if (!tool.contains(' '))
    names.push_back(spellFlag(makeCompletionFlag().name));
  llvm::append_range(names, getSpellings());
  // A flag of one letter would be near to every short name.
  llvm::erase_if(names, [](StringRef name) { return name.size() == 2; });
  size_t own = names.size();
  if (others)
    llvm::append_range(names, others->getNames());
  std::string typed = spellFlag(spelling.ltrim('-'));
  // The program's own flags come first, and win if another is equally near.
  StringRef meant = findNearest(typed, names);
  // A name of three letters with two other letters is a different word.
  size_t letters = typed.size() - 2;
  if (!meant.empty() && 2 * meant.edit_distance_insensitive(typed) <= letters)
    return ("; did you mean '" + meant + "'?").str();
  if (letters < 3)
    return "";
  StringRef longer;
  for (StringRef name : ArrayRef(names).take_front(own))
    if (name.starts_with(typed) &&
        (longer.empty() || name.size() < longer.size()))
      longer = name;
  return longer.empty() ? "" : ("; did you mean '" + longer + "'?").str();
}

int Flags::refuseUnknown(const Argument &argument,
                         const OtherFlags *others) const {
  if (StringRef hint = findHint(argument.name); !hint.empty())
    return usageError("unknown flag '" + argument.spelling + "'; " + hint);
  std::string nearest = suggest(argument.spelling, others);
  return usageError(
      "unknown flag '" + argument.spelling + "'" +
      (nearest.empty() ? "; see " + tool + " --help" : Twine(nearest)));
}

/// The one-letter flag that begins an argument such as "-oFILE", which is
/// rewritten; null if a longer, possibly misspelt name is meant.
Flag *Flags::findAttached(Argument &argument, const OtherFlags *others) {
  if (argument.text.starts_with("--") || argument.text.size() < 3)
    return nullptr;
  Flag *flag = find(argument.text.substr(1, 1));
  constexpr size_t shortest = 5;
  bool isMisspelt = argument.name.size() >= shortest &&
                    !suggest(argument.spelling, others).empty();
  if (!flag || flag->name.size() != 1 || flag->value.empty() || isMisspelt)
    return nullptr;
  argument.value = argument.text.drop_front(2);
  argument.hasValue = true;
  return flag;
}

std::optional<int> Flags::take(Flag &flag, Argument argument, Rest &rest,
                               const OtherFlags *others) {
  if (Error failed = count(flag))
    return usageError(toString(std::move(failed)));
  if (!argument.hasValue && !flag.isOptional) {
    StringRef next = rest.empty() ? "" : rest.front();
    // A flag cannot be a value; a number with a minus sign can.
    bool isFlag = next.starts_with("-") && next.size() > 1 &&
                  (find(split(next).name) ||
                   (others && others->isKnown(split(next).name)));
    if (rest.empty() || isFlag)
      return usageError(spellFlag(flag.name) + ": expected " + flag.expected +
                        (isFlag ? ", got the flag '" + next + "'" : Twine()));
    argument.value = next;
    rest = rest.drop_front();
  }
  if (Error failed = setValue(flag, argument.value, argument.hasValue))
    return usageError(toString(std::move(failed)));
  return std::nullopt;
}

std::optional<int> Flags::parseFlag(Argument argument, Rest &rest,
                                    OtherFlags *others) {
  if (Flag *flag = find(argument.name))
    return take(*flag, argument, rest, others);
  if (others && others->isKnown(argument.name)) {
    others->given.push_back(argument.text.data());
    if (!argument.hasValue && !rest.empty() &&
        others->needsValue(argument.name)) {
      others->given.push_back(rest.front());
      rest = rest.drop_front();
    }
    return std::nullopt;
  }
  if (Flag *flag = findAttached(argument, others))
    return take(*flag, argument, rest, others);
  return refuseUnknown(argument, others);
}

/// The flag that is meant by an argument without dashes, or with the dashes
/// that text editors make of them; empty if there is a file of that name or no
/// such flag.
std::string Flags::findMeantFlag(StringRef argument) const {
  StringRef text = argument;
  // U+2013, U+2014 and U+2212.
  while (text.consume_front("\xe2\x80\x93") ||
         text.consume_front("\xe2\x80\x94") ||
         text.consume_front("\xe2\x88\x92"))
    continue;
  bool hasDash = text.size() < argument.size();
  text = text.ltrim('-');
  auto [name, value] = text.split('=');
  const Flag *flag = find(name);
  bool isFlag = flag && !flag->isHidden && (hasDash || name.size() > 1);
  if (sys::fs::exists(argument) || !(isFlag || hasDash))
    return "";
  if (isFlag && !is_contained(flag->synonyms, name))
    name = flag->name;
  return spellFlag(name) + (value.empty() ? std::string() : "=" + value.str());
}

/// Files of arguments may refer to others, or to themselves.
static constexpr size_t maxFiles = 64;

/// Expands "@FILE" to the arguments in a file, like LLVM's programs do. Returns
/// false if the file cannot be read.
static bool expand(StringRef path, ArrayRef<const char *> &rest,
                   BumpPtrAllocator &memory,
                   std::deque<std::vector<const char *>> &expanded) {
  auto file = MemoryBuffer::getFile(path);
  if (!file)
    return false;
  StringSaver saver(memory);
  SmallVector<const char *> words;
  cl::TokenizeGNUCommandLine((*file)->getBuffer(), saver, words);
  llvm::append_range(words, rest);
  rest = expanded.emplace_back(words.begin(), words.end());
  return true;
}

bool Flags::knowsAll(Rest arguments) {
  return llvm::all_of(arguments, [this](StringRef argument) {
    if (argument.starts_with("@"))
      return false;
    return !argument.starts_with("-") || argument == "-" ||
           find(split(argument).name);
  });
}

std::optional<int> Flags::parse(ArrayRef<const char *> arguments,
                                std::vector<std::string> &positional,
                                OtherFlags *others) {
  if (std::optional<int> code = printWanted(arguments, others))
    return code;
  BumpPtrAllocator memory;
  std::deque<std::vector<const char *>> expanded;
  while (!arguments.empty()) {
    StringRef argument = arguments.front();
    arguments = arguments.drop_front();
    if (argument.starts_with("@") && expanded.size() < maxFiles &&
        expand(argument.drop_front(), arguments, memory, expanded))
      continue;
    if (argument == "--") {
      positional.insert(positional.end(), arguments.begin(), arguments.end());
      break;
    }
    if (!argument.starts_with("-") || argument == "-") {
      if (std::string meant = findMeantFlag(argument); !meant.empty())
        return usageError("'" + argument + "' is not a file; did you mean '" +
                          meant + "'?");
      positional.push_back(argument.str());
    } else if (auto code = parseFlag(split(argument), arguments, others))
      return code;
  }
  return std::nullopt;
}

} // namespace mp
