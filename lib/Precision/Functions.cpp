//===- Functions.cpp - Model-local functions and their calls --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Functions.h"

#include "mp-opt/Precision/Casts.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Names may hold any character; lengths tell where each part ends.
static std::string getKey(StringRef domain, StringRef name,
                          StringRef overload) {
  domain = normalizeDomain(domain);
  return (Twine(domain.size()) + " " + Twine(name.size()) + " " + domain +
          name + overload)
      .str();
}

StringRef getOverload(Operation *op) {
  auto extra = op->getAttrOfType<DictionaryAttr>(attr::extra);
  auto overload = extra ? extra.getAs<StringAttr>("overload") : StringAttr();
  return overload ? overload.getValue() : StringRef();
}

bool isSpecialized(FunctionOp function) {
  return function->hasAttr(mark::specialized);
}

FunctionTable::FunctionTable(ModuleOp module) {
  for (auto function : module.getOps<FunctionOp>())
    insert(function);
}

void FunctionTable::insert(FunctionOp function) {
  functions.try_emplace(
      getKey(function.getDomain(), function.getName(), getOverload(function)),
      function);
}

void FunctionTable::erase(FunctionOp function) {
  auto it = functions.find(
      getKey(function.getDomain(), function.getName(), getOverload(function)));
  if (it != functions.end() && it->second == function)
    functions.erase(it);
}

FunctionOp FunctionTable::lookup(StringRef domain, StringRef name,
                                 StringRef overload) const {
  return functions.lookup(getKey(domain, name, overload));
}

FunctionOp FunctionTable::lookupOriginal(Operation *node) const {
  auto call = dyn_cast<CustomOp>(node);
  if (!call || empty())
    return {};
  return lookup(call.getOnnxDomain(), call.getOnnxOpType(), getOverload(call));
}

FunctionOp FunctionTable::lookup(Operation *node) const {
  auto call = dyn_cast<CustomOp>(node);
  auto callee =
      call ? call->getAttrOfType<StringAttr>(mark::callee) : StringAttr();
  if (!callee)
    return lookupOriginal(node);
  return lookup(call.getOnnxDomain(), callee.getValue(), getOverload(call));
}

SmallVector<Operation *> getScopes(ModuleOp module) {
  SmallVector<Operation *> scopes;
  for (Operation &op : module.getOps()) {
    auto function = dyn_cast<FunctionOp>(op);
    if (isa<GraphOp>(op) || (function && isSpecialized(function)))
      scopes.push_back(&op);
  }
  return scopes;
}

} // namespace mp
