//===- RuntimeTable.cpp - Operators and types of a runtime ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Schema/RuntimeTable.h"

#include "llvm/ADT/StringSwitch.h"

#include <limits>

using namespace llvm;

namespace mp {

std::string RuntimeRelease::str() const {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::optional<RuntimeRelease> RuntimeRelease::parse(StringRef text,
                                                    unsigned minor) {
  auto [first, second] = text.split('.');
  RuntimeRelease release = {0, minor};
  if (first.getAsInteger(10, release.major) ||
      (text.contains('.') && second.getAsInteger(10, release.minor)))
    return std::nullopt;
  return release;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

class RuntimeTable::Parser {
public:
  Parser(StringRef file, RuntimeTable &table) : file(file), table(table) {}

  Error parse(StringRef text);
  /// Reads one line with cells.
  Error parseRow(StringRef content);

private:
  Error fail(const Twine &what) const {
    std::string place = line ? ":" + std::to_string(line) : "";
    return createStringError(file + place + ": " + what);
  }
  Error parseLine(ArrayRef<StringRef> cells);
  Error addRelease(ArrayRef<StringRef> cells);
  Error addRule(StringRef name);
  Error addKernel(ArrayRef<StringRef> cells);
  bool parseVersions(StringRef text, RuntimeKernel &kernel) const;
  bool parseTypes(StringRef text, RuntimeKernel &kernel) const;
  bool parseConditions(StringRef text, RuntimeKernel &kernel) const;
  bool parseReleases(StringRef text, RuntimeKernel &kernel) const;

  StringRef file;
  RuntimeTable &table;
  unsigned line = 0;
};

bool RuntimeTable::Parser::parseVersions(StringRef text,
                                         RuntimeKernel &kernel) const {
  kernel.until = std::numeric_limits<int>::max();
  if (text == "*")
    return true;
  auto [first, last] = text.split('-');
  return !first.getAsInteger(10, kernel.since) &&
         !(last.empty() ? first : last).getAsInteger(10, kernel.until) &&
         kernel.since <= kernel.until;
}

bool RuntimeTable::Parser::parseTypes(StringRef text,
                                      RuntimeKernel &kernel) const {
  SmallVector<StringRef> names;
  if (text != "-")
    text.split(names, ',');
  for (StringRef name : names) {
    auto kind = StringSwitch<std::optional<ElementKind>>(name)
                    .Case("f32", ElementKind::Float)
                    .Case("f16", ElementKind::Float16)
                    .Case("bf16", ElementKind::BFloat16)
                    .Case("f64", ElementKind::Double)
                    .Case("other", ElementKind::Undefined)
                    .Default(std::nullopt);
    if (!kind)
      return false;
    if (*kind == ElementKind::Undefined)
      kernel.takesOther = true;
    else
      kernel.floats |= 1u << unsigned(*kind);
  }
  return true;
}

bool RuntimeTable::Parser::parseConditions(StringRef text,
                                           RuntimeKernel &kernel) const {
  SmallVector<StringRef> parts;
  if (text != "-")
    text.split(parts, ';');
  for (StringRef part : parts) {
    SmallVector<StringRef> words;
    part.split(words, ' ', -1, /*KeepEmpty=*/false);
    if (words.size() != 3 ||
        !is_contained({"==", "!=", "<", "<=", ">", ">="}, words[1]))
      return false;
    kernel.conditions.push_back(
        {words[0].str(), words[1].str(), words[2].str()});
  }
  return true;
}

bool RuntimeTable::Parser::parseReleases(StringRef text,
                                         RuntimeKernel &kernel) const {
  if (text == "-")
    return true;
  bool isOpen = text.consume_back("+");
  auto [first, last] = text.split('-');
  std::optional<RuntimeRelease> from = RuntimeRelease::parse(first),
                                to = RuntimeRelease::parse(last.empty() ? first
                                                                        : last);
  if (!from || !to)
    return false;
  kernel.first = *from;
  if (!isOpen)
    kernel.last = *to;
  return true;
}

Error RuntimeTable::Parser::addRelease(ArrayRef<StringRef> cells) {
  Release release;
  std::optional<RuntimeRelease> number = RuntimeRelease::parse(cells[1]);
  if (!number || cells[2].getAsInteger(10, release.firstOpset) ||
      cells[3].getAsInteger(10, release.lastOpset))
    return fail("expected a version and two opsets");
  release.number = *number;
  if (!table.releases.empty() &&
      !(table.releases.back().number < release.number))
    return fail("expected releases in ascending order");
  table.releases.push_back(release);
  return Error::success();
}

Error RuntimeTable::Parser::addRule(StringRef name) {
  auto rule =
      StringSwitch<unsigned>(name)
          .Case("one-type", unsigned(RuntimeRule::OneType))
          .Case("casts-fp16", unsigned(RuntimeRule::CastsFP16))
          .Case("storage", unsigned(RuntimeRule::Storage))
          .Case("functions", unsigned(RuntimeRule::InlinesFunctions))
          .Case("static-shapes", unsigned(RuntimeRule::StaticShapes))
          .Case("fallback-16bit", unsigned(RuntimeRule::Fallback16Bit))
          .Case("own-scales", unsigned(RuntimeRule::OwnScales))
          .Case("requantized-biases", unsigned(RuntimeRule::RequantizedBiases))
          .Default(0);
  if (!rule)
    return fail("unknown rule '" + name + "'");
  table.rules |= rule;
  return Error::success();
}

Error RuntimeTable::Parser::addKernel(ArrayRef<StringRef> cells) {
  RuntimeKernel kernel;
  kernel.op = cells[1].str();
  kernel.variable = cells[3].str();
  if (!parseVersions(cells[2], kernel))
    return fail("expected versions such as 13, 7-12 or *, got '" + cells[2] +
                "'");
  if (!parseTypes(cells[4], kernel))
    return fail("expected types such as f32,f16,bf16,f64,other, got '" +
                cells[4] + "'");
  if (!parseConditions(cells[5], kernel))
    return fail("expected conditions such as `mode != cubic`, got '" +
                cells[5] + "'");
  if (!parseReleases(cells[6], kernel))
    return fail("expected releases such as 10.15+, got '" + cells[6] + "'");
  table.kernels[kernel.op].push_back(std::move(kernel));
  return Error::success();
}

Error RuntimeTable::Parser::parseLine(ArrayRef<StringRef> cells) {
  StringRef word = cells[0];
  auto numCells = StringSwitch<unsigned>(word)
                      .Cases({"runtime", "rule", "fallback"}, 2)
                      .Case("release", 4)
                      .Case("kernel", 7)
                      .Default(0);
  if (!numCells)
    return fail("unknown word '" + word + "'");
  if (cells.size() != numCells)
    return fail("expected " + Twine(numCells) + " cells, got " +
                Twine(cells.size()));
  if (word == "release")
    return addRelease(cells);
  if (word == "rule")
    return addRule(cells[1]);
  if (word == "kernel")
    return addKernel(cells);
  (word == "runtime" ? table.name : table.fallback) = cells[1].str();
  return Error::success();
}

Error RuntimeTable::Parser::parseRow(StringRef content) {
  SmallVector<StringRef, 8> cells;
  content.split(cells, '\t');
  return parseLine(cells);
}

Error RuntimeTable::Parser::parse(StringRef text) {
  while (!text.empty()) {
    StringRef content;
    std::tie(content, text) = text.split('\n');
    ++line;
    content.consume_back("\r");
    if (content.trim().empty() || content.starts_with("#"))
      continue;
    if (Error failed = parseRow(content))
      return failed;
  }
  if (table.name.empty() || table.releases.empty())
    return fail("expected a runtime and a release");
  return Error::success();
}

Expected<RuntimeTable> RuntimeTable::parse(StringRef text, StringRef file) {
  RuntimeTable table;
  if (Error failed = Parser(file, table).parse(text))
    return std::move(failed);
  return table;
}

Error RuntimeTable::addRow(StringRef line, StringRef file) {
  if (!line.starts_with("kernel\t"))
    return createStringError(file +
                             ": expected a line that begins with "
                             "`kernel` and a tab, got '" +
                             line + "'");
  return Parser(file, *this).parseRow(line);
}

ArrayRef<RuntimeKernel> RuntimeTable::getKernels(StringRef op) const {
  auto it = kernels.find(op);
  return it == kernels.end() ? ArrayRef<RuntimeKernel>()
                             : ArrayRef<RuntimeKernel>(it->second);
}

//===----------------------------------------------------------------------===//
// RuntimeProfile
//===----------------------------------------------------------------------===//

std::string RuntimeProfile::str() const {
  return (table->getName() + " " + release.number.str()).str();
}

SmallVector<const RuntimeKernel *>
RuntimeProfile::getKernels(StringRef op, int since,
                           const RuntimeTable *more) const {
  SmallVector<const RuntimeKernel *> found;
  for (const RuntimeTable *rows : {table, more})
    for (const RuntimeKernel &kernel :
         rows ? rows->getKernels(op) : ArrayRef<RuntimeKernel>())
      if (kernel.since <= since && since <= kernel.until &&
          !(release.number < kernel.first) && !(kernel.last < release.number))
        found.push_back(&kernel);
  return found;
}

} // namespace mp
