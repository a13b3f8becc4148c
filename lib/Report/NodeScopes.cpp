//===- NodeScopes.cpp - Module paths of nodes -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeScopes.h"

#include "mp-opt/Dialect/ONNX/Nodes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

/// The texts of a list in Python's form: "['', 'encoder', 'norm']".
static SmallVector<StringRef> parseList(StringRef list) {
  SmallVector<StringRef> items;
  list.trim().trim("[]").split(items, ',');
  for (StringRef &item : items)
    item = item.trim().trim("'\"");
  return items;
}

/// The modules of "root: a.Model/encoder: b.Encoder/linear: aten.linear".
static SmallVector<StringRef> parseNamespace(StringRef text) {
  SmallVector<StringRef> items;
  text.split(items, '/');
  for (StringRef &item : items)
    item = item.split(':').first.trim();
  return items;
}

/// Joins the modules' names, each without the name of the enclosing module. The
/// last entry is the call of the function itself.
static std::string joinModules(ArrayRef<StringRef> modules) {
  std::string path;
  StringRef around;
  for (StringRef module : modules.drop_back(!modules.empty())) {
    // torch uses this name if it has lost the module.
    bool isLost = module.starts_with("_empty_nn_module_stack");
    if (module.empty() || module == around || isLost)
      continue;
    StringRef own = module;
    if (!around.empty() && own.consume_front(around))
      own.consume_front(".");
    path += (path.empty() ? "" : "/") + own.str();
    around = module;
  }
  return path;
}

std::optional<std::string> getScopeFromMetadata(Operation *node) {
  if (auto list = getNodeMetadata(node, "pkg.torch.onnx.name_scopes"))
    return joinModules(parseList(*list));
  if (auto text = getNodeMetadata(node, "namespace"))
    return joinModules(parseNamespace(*text));
  return std::nullopt;
}

std::string getScopeOfDotted(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  std::string path;
  for (StringRef part : parts) {
    bool isNumber = !part.empty() && llvm::all_of(part, llvm::isDigit);
    path += (path.empty() ? "" : isNumber ? "." : "/") + part.str();
  }
  return path;
}

//===----------------------------------------------------------------------===//
// NodeScopes
//===----------------------------------------------------------------------===//

std::optional<std::string> NodeScopes::findOrigin(StringRef name) const {
  // Try prefixes from the longest to the shortest.
  for (StringRef start = name;;) {
    for (StringRef suffix : {"", "_grad", "_update"}) {
      StringRef origin = start;
      if (origin.consume_back(suffix))
        if (auto it = known.find(origin); it != known.end())
          return it->second;
    }
    size_t end = start.rfind('/');
    if (end == StringRef::npos)
      return std::nullopt;
    start = start.take_front(end);
  }
}

std::string NodeScopes::add(Operation *node, StringRef name) {
  std::string scope;
  if (auto told = getScopeFromMetadata(node)) {
    scope = *told;
    known[name] = scope;
    for (Value result : node->getResults())
      known[onnxir::getValueName(result)] = scope;
    return scope;
  }
  StringRef folder = name.rsplit('/').first.trim('/');
  if (!name.contains('/'))
    folder = "";
  if (known.empty())
    return folder.str();
  auto origin = findOrigin(name);
  if (!origin)
    return folder.str();
  // Nodes that were made for the same node stay together.
  StringRef last = folder.rsplit('/').second;
  StringRef own = last.empty() ? folder : last;
  scope = *origin;
  if (!own.empty())
    scope += (scope.empty() ? "" : "/") + own.str();
  return scope;
}

} // namespace mp
