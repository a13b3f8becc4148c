//===- ConfigFile.cpp - Users' text, YAML and JSON files ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's YAML parser is lazy: it does not read nodes before they are requested,
// so the limits here apply to it, too. JSON is parsed in the same way to get
// line numbers, after a check that it does not use YAML's extensions.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/ConfigFile.h"

#include "YAMLBounds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"

using namespace llvm;

namespace mp {

static constexpr size_t maxBytes = 1 << 20;
static constexpr unsigned maxDepth = 32;
static constexpr unsigned maxNodes = 100000;

Error errorAt(StringRef file, unsigned line, const Twine &message) {
  return createStringError(file + ":" + Twine(line) + ": " + message);
}

std::string ConfigNode::describe() const {
  switch (kind) {
  case Null:
    return "nothing";
  case Scalar:
    return "'" + text + "'";
  case List:
    return "a list";
  case Map:
    return "a map";
  }
  return "nothing";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

Expected<std::string> checkText(StringRef text, StringRef file) {
  if (text.size() > maxBytes)
    return createStringError(file + ": expected at most " + Twine(maxBytes) +
                             " bytes, found " + Twine(text.size()));
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return createStringError(file + ": expected UTF-8, found UTF-16");
  text.consume_front("\xef\xbb\xbf");
  unsigned line = 1;
  for (StringRef rest = text; !rest.empty(); ++line) {
    auto [head, tail] = rest.split('\n');
    auto *begin = reinterpret_cast<const UTF8 *>(head.begin());
    if (!isLegalUTF8String(&begin,
                           reinterpret_cast<const UTF8 *>(head.end())) ||
        head.contains('\0'))
      return errorAt(file, line, "expected UTF-8 text");
    rest = tail;
  }
  return text.str();
}

Expected<std::string> readTextFile(StringRef path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false,
                                    /*RequiresNullTerminator=*/false);
  if (!file)
    return createStringError("cannot read '" + path +
                             "': " + file.getError().message());
  return checkText((*file)->getBuffer(), path);
}

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

namespace {

class TreeBuilder {
public:
  TreeBuilder(StringRef text, StringRef file)
      : text(text), file(file), stream(text, sources, /*ShowColors=*/false) {
    sources.setDiagHandler(
        [](const SMDiagnostic &diagnostic, void *self) {
          static_cast<TreeBuilder *>(self)->note(diagnostic);
        },
        this);
    for (const char &c : text)
      if (c == '\n')
        lineEnds.push_back(&c);
  }

  Expected<ConfigNode> build();

private:
  void note(const SMDiagnostic &diagnostic);
  unsigned getLine(yaml::Node &node);
  /// False, and a message is there, on failure.
  bool build(yaml::Node *node, ConfigNode &result, unsigned depth);
  bool buildMap(yaml::MappingNode &map, ConfigNode &result, unsigned depth);
  bool fail(unsigned line, const Twine &text);

  StringRef text, file;
  std::vector<const char *> lineEnds;
  SourceMgr sources;
  yaml::Stream stream;
  std::string message;
  unsigned nodes = 0;
};

} // namespace

/// Keeps the parser's first complaint.
void TreeBuilder::note(const SMDiagnostic &diagnostic) {
  if (message.empty() && diagnostic.getKind() == SourceMgr::DK_Error)
    fail(std::max(diagnostic.getLineNo(), 1), diagnostic.getMessage());
}

bool TreeBuilder::fail(unsigned line, const Twine &text) {
  if (message.empty())
    message = (file + ":" + Twine(line) + ": " + text).str();
  return false;
}

unsigned TreeBuilder::getLine(yaml::Node &node) {
  const char *start = node.getSourceRange().Start.getPointer();
  if (!start || start < text.begin() || start > text.end())
    return 1;
  return 1 + (lower_bound(lineEnds, start) - lineEnds.begin());
}

bool TreeBuilder::build(yaml::Node *node, ConfigNode &result, unsigned depth) {
  if (!node)
    return fail(1, "expected a value");
  result.line = getLine(*node);
  if (depth > maxDepth)
    return fail(result.line, "nested more than " + Twine(maxDepth) + " deep");
  if (++nodes > maxNodes)
    return fail(result.line, "more than " + Twine(maxNodes) + " entries");
  if (isa<yaml::AliasNode>(node) || !node->getAnchor().empty())
    return fail(result.line, "anchors and aliases are not supported");
  SmallString<64> storage;
  if (auto *scalar = dyn_cast<yaml::ScalarNode>(node)) {
    StringRef raw = scalar->getRawValue();
    result.quoted = raw.starts_with("\"") || raw.starts_with("'");
    result.text = scalar->getValue(storage).str();
    bool isNull = !result.quoted &&
                  (raw.empty() || raw == "~" || raw == "null" || raw == "Null");
    result.kind = isNull ? ConfigNode::Null : ConfigNode::Scalar;
  } else if (auto *block = dyn_cast<yaml::BlockScalarNode>(node)) {
    result.kind = ConfigNode::Scalar;
    result.quoted = true;
    result.text = block->getValue().str();
  } else if (auto *list = dyn_cast<yaml::SequenceNode>(node)) {
    result.kind = ConfigNode::List;
    for (yaml::Node &item : *list) {
      result.items.emplace_back();
      if (!build(&item, result.items.back(), depth + 1))
        return false;
    }
  } else if (auto *map = dyn_cast<yaml::MappingNode>(node)) {
    return buildMap(*map, result, depth);
  }
  return !stream.failed();
}

bool TreeBuilder::buildMap(yaml::MappingNode &map, ConfigNode &result,
                           unsigned depth) {
  result.kind = ConfigNode::Map;
  StringSet<> keys;
  for (yaml::KeyValueNode &entry : map) {
    ConfigNode key;
    if (!build(entry.getKey(), key, depth + 1))
      return false;
    if (key.kind != ConfigNode::Scalar)
      return fail(key.line, "expected a key, found " + key.describe());
    if (!keys.insert(key.text).second)
      return fail(key.line, "key '" + key.text + "' is there twice");
    result.entries.push_back({key.text, key.line, {}});
    yaml::Node *value = entry.getValue();
    // The parser has no line number for absent values.
    if (isa_and_nonnull<yaml::NullNode>(value))
      result.entries.back().value.line = key.line;
    else if (!build(value, result.entries.back().value, depth + 1))
      return false;
  }
  return !stream.failed();
}

Expected<ConfigNode> TreeBuilder::build() {
  ConfigNode result;
  yaml::document_iterator document = stream.begin();
  bool built = document != stream.end() &&
               build(document->getRoot(), result, 0) && !stream.failed();
  if (built && ++document != stream.end())
    built = fail(1, "expected one document");
  if (built && !stream.failed())
    return result;
  fail(1, "expected a document");
  return createStringError(message);
}

/// LLVM's parser treats tabs as spaces, which other parsers refuse.
static Error checkIndentation(StringRef text, StringRef file) {
  unsigned line = 1;
  for (StringRef rest = text; !rest.empty(); ++line) {
    auto [head, tail] = rest.split('\n');
    StringRef content = head.ltrim();
    if (!content.empty() && !content.starts_with("#") &&
        head.drop_back(content.size()).contains('\t'))
      return errorAt(file, line, "indented with a tab: YAML takes spaces");
    rest = tail;
  }
  return Error::success();
}

Expected<ConfigNode> parseYAML(StringRef text, StringRef file) {
  Expected<std::string> checked = checkText(text, file);
  if (!checked)
    return checked.takeError();
  if (Error failed = checkIndentation(*checked, file))
    return failed;
  if (Error failed = checkYAMLBounds(*checked, file, maxDepth))
    return failed;
  return TreeBuilder(*checked, file).build();
}

Expected<ConfigNode> parseJSON(StringRef text, StringRef file) {
  Expected<std::string> checked = checkText(text, file);
  if (!checked)
    return checked.takeError();
  if (Error failed = checkYAMLBounds(*checked, file, maxDepth))
    return failed;
  // Built first, since it limits the depth, which the JSON parser does not.
  Expected<ConfigNode> tree = TreeBuilder(*checked, file).build();
  if (!tree)
    return tree;
  if (Expected<json::Value> document = json::parse(*checked); !document) {
    unsigned line = 1;
    std::string why = toString(document.takeError());
    StringRef rest = why;
    // "[3:5, byte=40]: Expected ..."
    if (rest.consume_front("[") && !rest.consumeInteger(10, line))
      rest = rest.split("]: ").second;
    return errorAt(file, line, "malformed JSON: " + rest);
  }
  return tree;
}

} // namespace mp
