//===- PolicyPrinter.cpp - The policy in force as YAML --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/PolicyFile.h"

#include "mp-opt/Precision/Policy/TorchNames.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace mp {

/// A scalar of YAML that reads back as `text`.
std::string quoteYAML(StringRef text) {
  bool isPlain =
      isAlpha(text.empty() ? '\0' : text.front()) && all_of(text, [](char c) {
        return isAlnum(c) || c == '_' || c == '.' || c == '-' || c == '/';
      });
  isPlain |= !text.empty() && all_of(text, [](char c) { return isDigit(c); });
  // Words that YAML would not read as text.
  isPlain &= !StringSwitch<bool>(text.lower())
                  .Cases({"true", "false", "null", "yes", "no"}, true)
                  .Cases({"y", "n", "on", "off"}, true)
                  .Default(false);
  if (isPlain)
    return text.str();
  if (escapeText(text) == text) {
    std::string quoted = "'";
    for (char c : text)
      quoted += c == '\'' ? "''" : std::string(1, c);
    return quoted + "'";
  }
  std::string quoted;
  for (char c : text)
    quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  // YAML has the same escapes.
  return "\"" + escapeText(quoted) + "\"";
}

namespace {

class PolicyPrinter {
public:
  PolicyPrinter(const PrecisionPolicy &policy, raw_ostream &os)
      : policy(policy), options(policy.getOptions()), os(os) {}

  void print(bool hasDefaults);

private:
  void printValue(StringRef key, const std::optional<PolicyEntry> &value);
  void printOps();
  void printRules();
  void printRule(const NodeRule &rule);
  void printMetadata();
  void printDefaults();
  void printNames(StringRef key, ArrayRef<std::string> names);

  const PrecisionPolicy &policy;
  const PolicyOptions &options;
  raw_ostream &os;
};

} // namespace

/// Makes a comment such as "  # --allow" that cannot end before the line does.
static std::string comment(StringRef text) {
  return "  # " + escapeText(text) + "\n";
}

void PolicyPrinter::printValue(StringRef key,
                               const std::optional<PolicyEntry> &value) {
  if (value)
    os << key << ": " << value->text << comment(value->place);
}

void PolicyPrinter::printOps() {
  bool any = any_of(opClasses, [&](OpClass opClass) {
    return !options.operators[opClass].empty();
  });
  if (!any)
    return;
  os << "ops:\n";
  for (OpClass opClass : opClasses) {
    if (options.operators[opClass].empty())
      continue;
    os << "  " << stringifyOpClass(opClass) << ":\n";
    // Entries that several places repeat are printed once.
    StringMap<bool> seen;
    for (const PolicyEntry &entry : options.operators[opClass]) {
      if (!seen.try_emplace(entry.text).second)
        continue;
      os << "    - " << quoteYAML(entry.text);
      std::string note = entry.place;
      if (auto names = getTorchOperators(entry.text))
        note += names->empty()
                    ? ": matches nothing"
                    : ": " + join(SmallVector<StringRef>(*names), ", ");
      os << comment(note);
    }
  }
}

static StringRef getSign(NodeCondition::Comparison comparison) {
  switch (comparison) {
  case NodeCondition::Equal:
    return "==";
  case NodeCondition::NotEqual:
    return "!=";
  case NodeCondition::Less:
    return "<";
  case NodeCondition::LessEqual:
    return "<=";
  case NodeCondition::Greater:
    return ">";
  case NodeCondition::GreaterEqual:
    return ">=";
  }
  return "==";
}

void PolicyPrinter::printRule(const NodeRule &rule) {
  os << "  - class: " << stringifyOpClass(rule.opClass) << comment(rule.place);
  switch (rule.kind) {
  case NodeRule::Name:
    os << "    name: " << quoteYAML(rule.text) << "\n";
    return;
  case NodeRule::Regex:
    os << "    regex: " << quoteYAML(rule.text) << "\n";
    return;
  case NodeRule::Between:
    os << "    between: [" << quoteYAML(rule.text) << ", "
       << quoteYAML(rule.other) << "]\n";
    return;
  case NodeRule::Metadata:
    os << "    metadata: {" << quoteYAML(rule.text) << ": "
       << quoteYAML(rule.other) << "}\n";
    return;
  case NodeRule::Where:
    os << "    op: " << quoteYAML(rule.text) << "\n    where:\n";
    for (const NodeCondition &condition : rule.conditions) {
      os << "      " << quoteYAML(condition.subject) << ": ";
      if (condition.isList) {
        os << "[";
        interleaveComma(condition.values, os,
                        [&](StringRef value) { os << quoteYAML(value); });
        os << "]\n";
      } else {
        os << quoteYAML((getSign(condition.comparison) + " " +
                         condition.values.front())
                            .str())
           << "\n";
      }
    }
  }
}

void PolicyPrinter::printRules() {
  if (options.rules.empty())
    return;
  os << "nodes:\n";
  for (const NodeRule &rule : options.rules)
    printRule(rule);
}

void PolicyPrinter::printMetadata() {
  if (!options.nodeMetadata && !options.modelMetadata)
    return;
  os << "metadata:\n";
  if (options.nodeMetadata)
    os << "  nodes: " << quoteYAML(options.nodeMetadata->text)
       << comment(options.nodeMetadata->place);
  if (options.modelMetadata)
    os << "  model: " << quoteYAML(options.modelMetadata->text)
       << comment(options.modelMetadata->place);
}

/// A list in brackets, broken before column 80.
void PolicyPrinter::printNames(StringRef key, ArrayRef<std::string> names) {
  std::string line = ("  " + key + ": [").str();
  for (auto [index, name] : enumerate(names)) {
    std::string next =
        quoteYAML(name) + (index + 1 < names.size() ? ", " : "]");
    if (line.size() + next.size() > 80) {
      os << StringRef(line).rtrim() << "\n";
      line = "    ";
    }
    line += next;
  }
  os << line << "\n";
}

void PolicyPrinter::printDefaults() {
  OperatorLists lists = options.defaults ? *options.defaults
                                         : getProfileLists(policy.getLowKind());
  bool any = false;
  std::vector<std::string> names[std::size(opClasses)];
  for (OpClass opClass : opClasses)
    for (const PolicyEntry &entry : std::as_const(lists)[opClass]) {
      // The user's own lists are above.
      auto [domain, opType] = StringRef(entry.text).rsplit('.');
      if (!opType.empty() && opType != "*" &&
          !policy.classifyOp(normalizeDomain(domain), opType).place.empty())
        continue;
      names[unsigned(opClass)].push_back(entry.text);
      any = true;
    }
  if (!any) {
    os << "defaults: none\n";
    return;
  }
  os << "defaults:"
     << comment(options.defaults
                    ? "lists that the policy gives in place of the built-in "
                      "ones"
                    : "built-in lists, less what the lists above say");
  for (OpClass opClass : opClasses)
    if (!names[unsigned(opClass)].empty())
      printNames(stringifyOpClass(opClass), names[unsigned(opClass)]);
}

void PolicyPrinter::print(bool hasDefaults) {
  os << "# The policy in force, as --policy reads it.\nversion: 1\n";
  PolicyEntry precision{"bf16", "default"};
  printValue("precision", options.precision.value_or(precision));
  printValue("assign", options.assign);
  printValue("min_saving", options.minSaving);
  if (!options.dims.empty())
    os << "dims:\n";
  for (const PolicyEntry &dim : options.dims) {
    auto [name, size] = StringRef(dim.text).rsplit('=');
    os << "  " << quoteYAML(name) << ": " << size << comment(dim.place);
  }
  if (!options.io.empty())
    os << "io:\n";
  for (const PolicyEntry &rule : options.io)
    os << "  - " << quoteYAML(rule.text) << comment(rule.place);
  if (options.strict)
    os << "strict: " << (*options.strict ? "true" : "false") << "\n";
  if (options.raiseOpset)
    os << "raise_opset: " << (*options.raiseOpset ? "true" : "false") << "\n";
  printOps();
  printRules();
  printMetadata();
  // Lists that replace the built-in ones are a part of the policy.
  if (!policy.changesNothing() && (hasDefaults || options.defaults))
    printDefaults();
}

void printPolicy(const PrecisionPolicy &policy, raw_ostream &os,
                 bool hasDefaults) {
  PolicyPrinter(policy, os).print(hasDefaults);
}

} // namespace mp
