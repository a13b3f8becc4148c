//===- ExportMetadata.cpp - Metadata of torch's exporter ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExportMetadata.h"

#include "mp-opt/Support/FlatJSON.h"
#include "mp-opt/Support/Nearest.h"
#include "mp-opt/Training/GradientStops.h"
#include "mp-opt/Training/Parameters.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

std::optional<StringRef> getFxNode(Operation *node) {
  return getNodeMetadata(node, fxNodeKey);
}

/// The text between `open` and its closing bracket.
static StringRef getBracketed(StringRef text, StringRef open) {
  size_t start = text.find(open);
  if (start == StringRef::npos)
    return {};
  text = text.drop_front(start + open.size());
  unsigned depth = 1;
  for (auto [index, letter] : llvm::enumerate(text)) {
    depth += StringRef("([{").contains(letter);
    depth -= StringRef(")]}").contains(letter);
    if (depth == 0)
      return text.take_front(index);
  }
  return {};
}

/// Splits the text at commas outside of brackets.
static SmallVector<StringRef> splitArguments(StringRef text) {
  SmallVector<StringRef> parts;
  unsigned depth = 0;
  size_t start = 0;
  for (auto [index, letter] : llvm::enumerate(text)) {
    depth += StringRef("([{").contains(letter);
    depth -= StringRef(")]}").contains(letter) && depth;
    if (letter != ',' || depth)
      continue;
    parts.push_back(text.slice(start, index).trim());
    start = index + 1;
  }
  if (StringRef last = text.drop_front(start).trim(); !last.empty())
    parts.push_back(last);
  return parts;
}

std::optional<StringRef> getFxArgument(StringRef call, unsigned index,
                                       StringRef name) {
  SmallVector<StringRef> given =
      splitArguments(getBracketed(call, "(args = ("));
  if (index < given.size())
    return given[index];
  for (StringRef pair : splitArguments(getBracketed(call, "kwargs = {"))) {
    auto [key, value] = pair.split(':');
    if (key.trim() == name)
      return value.trim();
  }
  return std::nullopt;
}

SmallVector<StringRef> getFxOperands(StringRef call) {
  SmallVector<StringRef> names;
  StringRef rest = call.split("](args = ").second;
  while (!rest.empty()) {
    rest = rest.split('%').second;
    StringRef name = rest.take_while(
        [](char letter) { return llvm::isAlnum(letter) || letter == '_'; });
    if (!name.empty())
      names.push_back(name);
  }
  return names;
}

/// The text of `key` in the metadata.
static std::optional<StringRef> findText(ArrayAttr metadata, StringRef key) {
  for (Attribute property :
       metadata ? metadata.getValue() : ArrayRef<Attribute>()) {
    auto entry = dyn_cast<DictionaryAttr>(property);
    auto name = entry ? entry.getAs<StringAttr>("key") : StringAttr();
    auto text = entry ? entry.getAs<StringAttr>("value") : StringAttr();
    if (name && text && name.getValue() == key)
      return text.getValue();
  }
  return std::nullopt;
}

bool mayHold(Value buffer, Value next) {
  return getTensorElementType(buffer.getType()) ==
             getTensorElementType(next.getType()) &&
         succeeded(verifyCompatibleShape(buffer.getType(), next.getType()));
}

FailureOr<llvm::StringMap<std::string>> findNextBuffers(GraphOp graph) {
  llvm::StringMap<std::string> buffers;
  constexpr StringLiteral key = "mp-opt.next_buffers";
  if (auto text = getModelMetadata(graph->getParentOfType<ModuleOp>(), key)) {
    llvm::Expected<llvm::json::Value> given =
        parseFlatJSON(*text, /*maxDepth=*/1);
    llvm::json::Object *pairs = given ? given->getAsObject() : nullptr;
    if (!given)
      llvm::consumeError(given.takeError());
    bool isMap = pairs && llvm::all_of(*pairs, [](const auto &pair) {
                   return bool(pair.second.getAsString());
                 });
    if (!isMap)
      return graph.emitError() << "metadata '" << key
                               << "': expected a JSON object with the name of "
                               << "a value for each buffer";
    llvm::StringMap<Value> values = findValues(graph);
    for (const auto &[buffer, value] : *pairs) {
      StringRef name = *value.getAsString();
      Value next = values.lookup(name), old = values.lookup(buffer);
      if (!next || !next.getDefiningOp() || !isNode(next.getDefiningOp()))
        return graph.emitError()
               << "metadata '" << key << "': '" << name << "' for the buffer '"
               << buffer.str() << "' is not a value that a node computes"
               << (next ? "" : suggestNearest(name, values.keys()));
      if (old && !mayHold(old, next))
        return graph.emitError()
               << "metadata '" << key << "': '" << name << "' is "
               << next.getType() << ", the buffer '" << buffer.str() << "' is "
               << old.getType();
      buffers[name] = buffer.str();
    }
    return buffers;
  }
  YieldOp yield = onnxir::getYield(graph.getBody());
  auto fields =
      yield ? yield->getAttrOfType<DictionaryAttr>(attr::graph) : nullptr;
  if (!fields)
    return buffers;
  // The text has lines such as "div: BUFFER_MUTATION target='0._u'".
  auto text = findText(fields.getAs<ArrayAttr>("metadata_props"),
                       "pkg.torch.export.ExportedProgram.graph_signature");
  for (StringRef line : llvm::split(text.value_or(""), '\n')) {
    auto [value, target] = line.split(": BUFFER_MUTATION target='");
    if (target.consume_back("'"))
      buffers[value] = target;
  }
  return buffers;
}

ValueMetadata::ValueMetadata(GraphOp graph) {
  YieldOp yield = onnxir::getYield(graph.getBody());
  if (!yield)
    return;
  for (StringRef list : {attr::valueInfo, attr::inputs, attr::outputs}) {
    auto infos = yield->getAttrOfType<ArrayAttr>(list);
    for (Attribute info : infos ? infos.getValue() : ArrayRef<Attribute>()) {
      auto fields = dyn_cast<DictionaryAttr>(info);
      auto name = fields ? fields.getAs<StringAttr>("name") : StringAttr();
      auto held =
          fields ? fields.getAs<ArrayAttr>("metadata_props") : ArrayAttr();
      if (name && held)
        properties.try_emplace(name.getValue(), held);
    }
  }
}

std::optional<StringRef> ValueMetadata::get(StringRef value,
                                            StringRef key) const {
  return findText(properties.lookup(value), key);
}

} // namespace mp
