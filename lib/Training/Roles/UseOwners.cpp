//===- UseOwners.cpp - Modules that own uses ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UseOwners.h"

#include "ExportMetadata.h"
#include "ModuleScopes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

UseOwners::UseOwners(GraphOp graph) {
  ValueMetadata metadata(graph);
  for (auto initializer : graph.getBody().front().getOps<InitializerOp>()) {
    StringRef name = initializer.getName();
    auto stated = metadata.get(name, originalNameKey);
    std::string original = stated ? stated->str() : "p_" + name.str();
    for (char &letter : original)
      letter = llvm::isAlnum(letter) ? letter : '_';
    known.insert(original);
    originals[name] = original;
  }
}

/// Finds the owner in a call, which names its parameters, merged or not.
std::optional<UseOwner>
UseOwners::findInCall(const ParameterCandidate &candidate,
                      const ParameterUse &use) const {
  Operation *reader = use.origin ? use.origin->getOwner() : use.node;
  auto call = reader && isNode(reader) ? getFxNode(reader) : std::nullopt;
  if (!call)
    return std::nullopt;
  std::string own = originals.lookup(candidate.name);
  SmallVector<StringRef> others, alike;
  bool isBias = use.role == ParameterRole::Bias;
  for (StringRef name : getFxOperands(*call)) {
    if (name == own)
      return UseOwner{UseOwner::Own, {}};
    if (!name.starts_with("p_") || known.contains(name))
      continue;
    others.push_back(name);
    if (name.ends_with("bias") == isBias)
      alike.push_back(name);
  }
  if (others.empty())
    return std::nullopt;
  return UseOwner{UseOwner::Foreign,
                  llvm::join(alike.empty() ? others : alike, ",")};
}

/// The module of a parameter of that name; absent if the name does not tell.
static std::optional<std::string> getOwningModule(StringRef name,
                                                  bool isTorch) {
  if (isGeneratedName(name))
    return std::nullopt;
  std::string path = name.str();
  std::replace(path.begin(), path.end(), '/', '.');
  size_t end = path.rfind('.');
  if (end == std::string::npos)
    return isTorch ? std::optional<std::string>("") : std::nullopt;
  return path.substr(0, end);
}

/// True if `inner` is the module `outer`, or in it.
static bool isWithin(StringRef inner, StringRef outer) {
  return outer.empty() || inner == outer ||
         (inner.starts_with(outer) && inner[outer.size()] == '.');
}

UseOwner UseOwners::find(const ParameterCandidate &candidate,
                         const ParameterUse &use) const {
  if (auto found = findInCall(candidate, use))
    return *found;
  auto owner = getOwningModule(candidate.name, isTorchExport(use.node));
  if (!owner)
    return {};
  bool isPlaced = getNodeMetadata(use.node, "pkg.torch.onnx.name_scopes") ||
                  getNodeName(use.node).contains('/');
  // A parameter of the model itself may be passed anywhere.
  if (!isPlaced)
    return {owner->empty() ? UseOwner::Own : UseOwner::Unknown, {}};
  auto isNear = [&](Operation *node) {
    std::string scope = withoutCallNumbers(getModuleScope(node));
    return isWithin(scope, *owner) || isWithin(*owner, scope);
  };
  // Results that a module computes from constants alone meet the batch in
  // another module; the owner is then that of the first reader.
  Operation *reader = use.origin ? use.origin->getOwner() : use.node;
  bool isOwn =
      isNear(use.node) || (!getModuleScope(reader).empty() && isNear(reader));
  return {isOwn ? UseOwner::Own : UseOwner::Unknown, {}};
}

} // namespace mp
