//===- PolicyYAML.cpp - A policy in YAML ----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every map of the file has a table of its keys, so an unknown key gives an
// error with the nearest name. examples/policies/policy.yaml shows every key.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/PolicyFile.h"

#include "mp-opt/Precision/Policy/InterfaceTypes.h"
#include "mp-opt/Precision/Policy/NodeOverrides.h"
#include "mp-opt/Support/ConfigFile.h"
#include "mp-opt/Support/NameRegex.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace mp {

namespace {

class PolicyReader {
public:
  PolicyReader(StringRef file, PolicyOptions &options)
      : file(file), options(options) {}

  Error readRoot(const ConfigNode &root);

private:
  using Entry = ConfigNode::Entry;
  /// Reads the value of one key.
  struct Key {
    StringLiteral name;
    Error (PolicyReader::*read)(const Entry &entry);
  };

  Error readMap(const ConfigNode &map, ArrayRef<Key> keys);
  Error readVersion(const Entry &entry);
  Error readPrecision(const Entry &entry);
  Error readOps(const Entry &entry);
  Error readDefaults(const Entry &entry);
  Error readNodes(const Entry &entry);
  Error readMetadata(const Entry &entry);
  Error readNodeKey(const Entry &entry);
  Error readModelKey(const Entry &entry);
  Error readAssign(const Entry &entry);
  Error readMinSaving(const Entry &entry);
  Error readDims(const Entry &entry);
  Error readIO(const Entry &entry);
  Error readStrict(const Entry &entry);
  Error readRaiseOpset(const Entry &entry);

  Error readLists(const Entry &entry, OperatorLists &lists);
  Error readRule(const ConfigNode &node);
  Error readRuleKey(const Entry &entry, NodeRule &rule, bool &hasClass);
  Error readBetween(const Entry &entry, NodeRule &rule);
  Error readWhere(const Entry &entry, NodeRule &rule);
  Error readMatch(const Entry &entry, NodeRule &rule);
  Error readText(const Entry &entry, std::string &text);
  Error readBool(const Entry &entry, std::optional<bool> &value);
  Error setOnce(const Entry &entry, std::optional<PolicyEntry> &value,
                StringRef text);
  Error expect(const Entry &entry, const Twine &what);
  std::string placeOf(unsigned line) const {
    return (file + ":" + Twine(line)).str();
  }

  StringRef file;
  PolicyOptions &options;
};

} // namespace

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Error PolicyReader::expect(const Entry &entry, const Twine &what) {
  return errorAt(file, entry.line,
                 "'" + entry.key + "': expected " + what + ", found " +
                     entry.value.describe());
}

Error PolicyReader::readText(const Entry &entry, std::string &text) {
  if (entry.value.kind != ConfigNode::Scalar || entry.value.text.empty())
    return expect(entry, "a text");
  text = entry.value.text;
  return Error::success();
}

Error PolicyReader::readBool(const Entry &entry, std::optional<bool> &value) {
  if (entry.value.text != "true" && entry.value.text != "false")
    return expect(entry, "true or false");
  bool read = entry.value.text == "true";
  if (value.value_or(read) != read)
    return errorAt(file, entry.line,
                   "'" + entry.key + "' is " + entry.value.text +
                       " here and otherwise before");
  value = read;
  return Error::success();
}

Error PolicyReader::setOnce(const Entry &entry,
                            std::optional<PolicyEntry> &value, StringRef text) {
  if (value && value->text != text)
    return errorAt(file, entry.line,
                   "'" + entry.key + "' is '" + text + "' here and '" +
                       value->text + "' " + describePlace(value->place));
  value = {text.str(), placeOf(entry.line)};
  return Error::success();
}

Error PolicyReader::readMap(const ConfigNode &map, ArrayRef<Key> keys) {
  for (const Entry &entry : map.entries) {
    auto *key = find_if(
        keys, [&](const Key &known) { return known.name == entry.key; });
    if (key == keys.end())
      return errorAt(
          file, entry.line,
          "unknown key '" + entry.key + "'" +
              suggestNearest(entry.key, map_range(keys, [](const Key &known) {
                               return StringRef(known.name);
                             })));
    if (Error failed = (this->*key->read)(entry))
      return failed;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The root
//===----------------------------------------------------------------------===//

Error PolicyReader::readRoot(const ConfigNode &root) {
  if (root.kind != ConfigNode::Map)
    return errorAt(file, root.line,
                   "expected a map of keys, found " + root.describe());
  if (root.entries.empty())
    return createStringError(file + ": the policy is empty");
  static constexpr Key keys[] = {
      {"version", &PolicyReader::readVersion},
      {"precision", &PolicyReader::readPrecision},
      {"ops", &PolicyReader::readOps},
      {"nodes", &PolicyReader::readNodes},
      {"metadata", &PolicyReader::readMetadata},
      {"defaults", &PolicyReader::readDefaults},
      {"assign", &PolicyReader::readAssign},
      {"min_saving", &PolicyReader::readMinSaving},
      {"dims", &PolicyReader::readDims},
      {"io", &PolicyReader::readIO},
      {"strict", &PolicyReader::readStrict},
      {"raise_opset", &PolicyReader::readRaiseOpset},
  };
  return readMap(root, keys);
}

Error PolicyReader::readVersion(const Entry &entry) {
  return entry.value.text == "1" ? Error::success() : expect(entry, "1");
}

Error PolicyReader::readPrecision(const Entry &entry) {
  static constexpr StringLiteral names[] = {
      "bf16", "fp16", "float32", "mixed_bfloat16", "mixed_float16", "fp32"};
  if (entry.value.kind != ConfigNode::Scalar ||
      !is_contained(names, entry.value.text))
    return errorAt(file, entry.line,
                   "'" + entry.key +
                       "': expected bf16, fp16, float32, "
                       "mixed_bfloat16 or mixed_float16, found " +
                       entry.value.describe() +
                       suggestNearest(entry.value.text, names));
  StringRef precision = StringSwitch<StringRef>(entry.value.text)
                            .Case("mixed_bfloat16", "bf16")
                            .Case("mixed_float16", "fp16")
                            .Case("fp32", "float32")
                            .Default(entry.value.text);
  return setPrecision(precision, placeOf(entry.line), options);
}

Error PolicyReader::readLists(const Entry &entry, OperatorLists &lists) {
  if (entry.value.kind != ConfigNode::Map || entry.value.entries.empty())
    return expect(entry, "lists of operators");
  for (const Entry &list : entry.value.entries) {
    std::optional<OpClass> opClass = symbolizeOpClass(list.key);
    if (!opClass)
      return errorAt(
          file, list.line,
          "unknown key '" + list.key + "'" +
              suggestNearest(list.key, map_range(opClasses, stringifyOpClass)));
    if (list.value.kind != ConfigNode::List)
      return expect(list, "a list of operators");
    if (list.value.items.empty())
      return errorAt(file, list.line, "'" + list.key + "': the list is empty");
    for (const ConfigNode &item : list.value.items) {
      if (item.kind != ConfigNode::Scalar || item.text.empty())
        return errorAt(file, item.line,
                       "'" + list.key + "': expected an operator, found " +
                           item.describe());
      lists[*opClass].push_back({item.text, placeOf(item.line)});
    }
  }
  return Error::success();
}

Error PolicyReader::readOps(const Entry &entry) {
  return readLists(entry, options.operators);
}

Error PolicyReader::readDefaults(const Entry &entry) {
  if (options.defaults)
    return errorAt(file, entry.line, "'defaults' are there already");
  if (entry.value.text == "built-in")
    return Error::success();
  options.defaults.emplace();
  if (entry.value.text == "none")
    return Error::success();
  if (entry.value.kind != ConfigNode::Map)
    return expect(entry, "built-in, none, or lists of operators");
  return readLists(entry, *options.defaults);
}

Error PolicyReader::readMetadata(const Entry &entry) {
  if (entry.value.kind != ConfigNode::Map || entry.value.entries.empty())
    return expect(entry, "'nodes' or 'model' with a key of metadata");
  static constexpr Key keys[] = {{"nodes", &PolicyReader::readNodeKey},
                                 {"model", &PolicyReader::readModelKey}};
  return readMap(entry.value, keys);
}

Error PolicyReader::readNodeKey(const Entry &entry) {
  std::string key;
  if (Error failed = readText(entry, key))
    return failed;
  return setOnce(entry, options.nodeMetadata, key);
}

Error PolicyReader::readModelKey(const Entry &entry) {
  std::string key;
  if (Error failed = readText(entry, key))
    return failed;
  return setOnce(entry, options.modelMetadata, key);
}

Error PolicyReader::readAssign(const Entry &entry) {
  if (entry.value.text != "min-cut" && entry.value.text != "first-operand")
    return expect(entry, "min-cut or first-operand");
  return setOnce(entry, options.assign, entry.value.text);
}

Error PolicyReader::readMinSaving(const Entry &entry) {
  double value;
  if (entry.value.kind != ConfigNode::Scalar ||
      StringRef(entry.value.text).getAsDouble(value) || !(value >= 0) ||
      value > 100)
    return expect(entry, "a percentage");
  return setOnce(entry, options.minSaving, entry.value.text);
}

Error PolicyReader::readDims(const Entry &entry) {
  if (entry.value.kind != ConfigNode::Map || entry.value.entries.empty())
    return expect(entry, "sizes by the names of dimensions");
  for (const Entry &dim : entry.value.entries) {
    int64_t size;
    if (dim.value.kind != ConfigNode::Scalar ||
        StringRef(dim.value.text).getAsInteger(10, size) || size < 1)
      return expect(dim, "a size");
    options.dims.push_back({dim.key + "=" + dim.value.text, placeOf(dim.line)});
  }
  return Error::success();
}

/// A rule of --io, or a list of them.
Error PolicyReader::readIO(const Entry &entry) {
  const ConfigNode &value = entry.value;
  bool isList = value.kind == ConfigNode::List;
  ArrayRef<ConfigNode> items = isList ? ArrayRef(value.items) : ArrayRef(value);
  if (items.empty())
    return expect(entry, "a type, or a list of PATTERN=TYPE");
  for (const ConfigNode &item : items) {
    if (item.kind != ConfigNode::Scalar || item.text.empty())
      return expect(entry, "a type, or a list of PATTERN=TYPE");
    if (Error failed =
            addInterfaceRules(item.text, placeOf(item.line), options.io))
      return failed;
  }
  return Error::success();
}

Error PolicyReader::readStrict(const Entry &entry) {
  return readBool(entry, options.strict);
}

Error PolicyReader::readRaiseOpset(const Entry &entry) {
  return readBool(entry, options.raiseOpset);
}

//===----------------------------------------------------------------------===//
// Rules for nodes
//===----------------------------------------------------------------------===//

Error PolicyReader::readNodes(const Entry &entry) {
  if (entry.value.kind != ConfigNode::List || entry.value.items.empty())
    return expect(entry, "a list of rules");
  for (const ConfigNode &node : entry.value.items)
    if (Error failed = readRule(node))
      return failed;
  return Error::success();
}

Error PolicyReader::readBetween(const Entry &entry, NodeRule &rule) {
  rule.kind = NodeRule::Between;
  const std::vector<ConfigNode> &ends = entry.value.items;
  if (entry.value.kind != ConfigNode::List || ends.size() != 2)
    return expect(entry, "two names of nodes or values");
  for (const ConfigNode &name : ends)
    if (name.kind != ConfigNode::Scalar || name.text.empty())
      return errorAt(file, name.line,
                     "'between': expected the name of a node or value, found " +
                         name.describe());
  rule.text = ends[0].text;
  rule.other = ends[1].text;
  return Error::success();
}

/// Splits ">= 2" into the operator and the value.
static NodeCondition::Comparison takeComparison(StringRef &text) {
  static constexpr std::pair<StringLiteral, NodeCondition::Comparison> signs[] =
      {{">=", NodeCondition::GreaterEqual}, {"<=", NodeCondition::LessEqual},
       {"!=", NodeCondition::NotEqual},     {"==", NodeCondition::Equal},
       {">", NodeCondition::Greater},       {"<", NodeCondition::Less},
       {"=", NodeCondition::Equal}};
  for (auto [sign, comparison] : signs)
    if (text.consume_front(sign)) {
      text = text.ltrim();
      return comparison;
    }
  return NodeCondition::Equal;
}

Error PolicyReader::readWhere(const Entry &entry, NodeRule &rule) {
  if (entry.value.kind != ConfigNode::Map || entry.value.entries.empty())
    return expect(entry, "conditions on attributes");
  for (const Entry &condition : entry.value.entries) {
    NodeCondition read;
    read.subject = condition.key;
    read.place = placeOf(condition.line);
    const ConfigNode &value = condition.value;
    read.isList = value.kind == ConfigNode::List;
    if (read.isList) {
      for (const ConfigNode &item : value.items) {
        if (item.kind != ConfigNode::Scalar)
          return expect(condition, "a value or a list of values");
        read.values.push_back(item.text);
      }
    } else if (value.kind == ConfigNode::Scalar) {
      StringRef text = value.text;
      read.comparison = takeComparison(text);
      double number;
      if (read.comparison >= NodeCondition::Less && text.getAsDouble(number))
        return expect(condition, "a number after the comparison");
      read.values.push_back(text.str());
    } else {
      return expect(condition, "a value or a list of values");
    }
    rule.conditions.push_back(std::move(read));
  }
  return Error::success();
}

/// One key of the metadata, with its value.
Error PolicyReader::readMatch(const Entry &entry, NodeRule &rule) {
  rule.kind = NodeRule::Metadata;
  if (entry.value.kind != ConfigNode::Map || entry.value.entries.size() != 1)
    return expect(entry, "a key of metadata with its value");
  rule.text = entry.value.entries.front().key;
  return readText(entry.value.entries.front(), rule.other);
}

Error PolicyReader::readRuleKey(const Entry &entry, NodeRule &rule,
                                bool &hasClass) {
  static constexpr StringLiteral keys[] = {"name",  "regex",    "between", "op",
                                           "where", "metadata", "class"};
  if (entry.key == "class") {
    std::optional<OpClass> opClass = symbolizeOpClass(entry.value.text);
    if (!opClass)
      return errorAt(
          file, entry.line,
          "'class': expected allow, deny, promote or follow, found " +
              entry.value.describe() +
              suggestNearest(entry.value.text,
                             map_range(opClasses, stringifyOpClass)));
    rule.opClass = *opClass;
    hasClass = true;
    return Error::success();
  }
  if (entry.key == "between")
    return readBetween(entry, rule);
  if (entry.key == "where")
    return readWhere(entry, rule);
  if (entry.key == "metadata")
    return readMatch(entry, rule);
  if (!is_contained(keys, entry.key))
    return errorAt(file, entry.line,
                   "unknown key '" + entry.key + "'" +
                       suggestNearest(entry.key, keys));
  rule.kind = entry.key == "name"    ? NodeRule::Name
              : entry.key == "regex" ? NodeRule::Regex
                                     : NodeRule::Where;
  if (Error failed = readText(entry, rule.text))
    return failed;
  if (rule.kind != NodeRule::Regex)
    return Error::success();
  if (Error invalid = NameRegex::compile(rule.text).takeError())
    return errorAt(
        file, entry.line,
        "'regex': '" + rule.text +
            "' is not a regular expression: " + toString(std::move(invalid)));
  return Error::success();
}

Error PolicyReader::readRule(const ConfigNode &node) {
  static constexpr StringLiteral expected =
      "expected 'class' and one of 'name', 'regex', 'between', 'metadata', and "
      "'op' with 'where'";
  if (node.kind != ConfigNode::Map)
    return errorAt(file, node.line, expected + ", found " + node.describe());
  NodeRule rule{NodeRule::Name, OpClass::Deny, {}, {}, {}, placeOf(node.line)};
  unsigned selectors = 0;
  bool hasClass = false, hasOp = false, hasWhere = false;
  for (const Entry &entry : node.entries) {
    if (Error failed = readRuleKey(entry, rule, hasClass))
      return failed;
    hasOp |= entry.key == "op";
    hasWhere |= entry.key == "where";
    selectors += entry.key != "class" && entry.key != "where";
  }
  if (selectors != 1 || !hasClass || hasOp != hasWhere)
    return errorAt(file, node.line, expected);
  options.rules.push_back(std::move(rule));
  return Error::success();
}

Error addPolicyYAML(StringRef text, StringRef file, PolicyOptions &options) {
  Expected<ConfigNode> root = parseYAML(text, file);
  if (!root)
    return root.takeError();
  return PolicyReader(file, options).readRoot(*root);
}

} // namespace mp
