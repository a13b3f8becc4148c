//===- ModuleScopes.cpp - The modules that nodes come from ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleScopes.h"

#include "mp-opt/Dialect/ONNX/Nodes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace mp {

/// The last entry but one of "['', 'encoder', 'encoder.norm', 'layer_norm']":
/// the last is the call of the function itself.
static StringRef getInnermost(StringRef list) {
  SmallVector<StringRef> parts;
  list.trim("[] ").split(parts, ',');
  if (parts.size() < 2)
    return {};
  return parts[parts.size() - 2].trim().trim("'\"");
}

std::string getModuleScope(Operation *node) {
  if (auto scopes = getNodeMetadata(node, "pkg.torch.onnx.name_scopes"))
    return getInnermost(*scopes).str();
  StringRef name = onnxir::getNodeName(node);
  size_t end = name.rfind('/');
  if (end == StringRef::npos)
    return {};
  std::string scope = name.take_front(end).ltrim('/').str();
  std::replace(scope.begin(), scope.end(), '/', '.');
  return scope;
}

std::string withoutCallNumbers(StringRef scope) {
  SmallVector<StringRef> parts;
  scope.split(parts, '.');
  for (StringRef &part : parts) {
    size_t end = part.rfind('_');
    if (end != StringRef::npos && end > 0 &&
        !part.drop_front(end + 1).empty() &&
        llvm::all_of(part.drop_front(end + 1), llvm::isDigit))
      part = part.take_front(end);
  }
  return llvm::join(parts, ".");
}

bool isTorchExport(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  auto fields = module->getAttrOfType<DictionaryAttr>(onnxir::attr::model);
  auto producer =
      fields ? fields.getAs<StringAttr>("producer_name") : StringAttr();
  return producer && producer.getValue() == "pytorch";
}

bool isGeneratedName(StringRef name) {
  static const llvm::Regex generated(
      "^$|::|^/|_output_[0-9]+$|^[0-9]+$|const_fold|"
      "/Const(_[0-9]+)?(:0)?$|"
      "^_*(c_)?(new_)?(val|const|constant|lifted|scalar|arange|full|zeros|"
      "ones|linspace|tensor|mul|add|sub|div|pow|expand|unsqueeze|slice|clone|"
      "cat|where)(_like|_tensor|_constant|_default|_scalar)*_*[0-9]*"
      "(__[0-9]+)?$",
      llvm::Regex::IgnoreCase);
  return generated.match(name);
}

} // namespace mp
