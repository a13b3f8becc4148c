//===- Functions.cpp - Model-local functions and their calls --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/Functions.h"

#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Graph/OpsetUpgrade.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Names may contain any character; lengths separate the parts.
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

bool FunctionTable::insert(FunctionOp function) {
  std::string key =
      getKey(function.getDomain(), function.getName(), getOverload(function));
  return functions.try_emplace(key, function).second;
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

//===----------------------------------------------------------------------===//
// FunctionSizes
//===----------------------------------------------------------------------===//

FunctionSizes::FunctionSizes(ModuleOp module, const FunctionTable &table) {
  for (auto function : module.getOps<FunctionOp>())
    visit(function, table);
}

void FunctionSizes::visit(FunctionOp root, const FunctionTable &table) {
  constexpr uint64_t most = uint64_t(1) << 62;
  struct Open {
    FunctionOp function;
    SmallVector<FunctionOp> callees;
    size_t next = 0;
  };
  std::vector<Open> stack;
  llvm::DenseMap<Operation *, size_t> depths;
  auto open = [&](FunctionOp function) {
    if (!sizes.try_emplace(function).second)
      return false;
    depths[function] = stack.size();
    Open scope{function, {}};
    function->walk([&](Operation *op) {
      sizes[function].own += isNode(op);
      if (FunctionOp callee = table.lookup(op))
        scope.callees.push_back(callee);
    });
    sizes[function].expanded = sizes[function].own;
    stack.push_back(std::move(scope));
    return true;
  };
  open(root);
  while (!stack.empty()) {
    Open &top = stack.back();
    if (top.next == top.callees.size()) {
      depths.erase(top.function);
      stack.pop_back();
      continue;
    }
    FunctionOp callee = top.callees[top.next];
    if (auto it = depths.find(callee); it != depths.end()) {
      for (Open &scope : llvm::drop_begin(stack, it->second))
        sizes[scope.function].isRecursive = true;
    } else if (open(callee)) {
      continue; // Comes here again when the callee's size is known.
    } else {
      Size &size = sizes[top.function];
      size.expanded = std::min(most, size.expanded + sizes[callee].expanded);
    }
    ++top.next;
  }
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

/// True if the node has the same meaning and form at `opset`.
static bool isSameAt(Operation *node, int64_t opset) {
  auto *dialect = cast<ONNXDialect>(node->getDialect());
  const OpFamily *family = dialect->getFamily(node->getName());
  const OpSchema *before = getSchema(node);
  const OpSchema *after = family->at(int(std::min<int64_t>(opset, INT32_MAX)));
  while (before && after && before != after) {
    const OpSchema *next = family->after(before->since);
    if (!next || before->since > after->since)
      return false;
    OpsetStep step = classifyStep(*before, *next);
    if (step.kind > OpsetStep::Additions || !step.except.empty())
      return false;
    before = next;
  }
  return before == after;
}

void importModelOpsets(FunctionOp function, ModuleOp module) {
  auto imports = function->getAttrOfType<ArrayAttr>(attr::opsets);
  if (!imports || !module->hasAttr(attr::opsets))
    return;
  Builder builder(function.getContext());
  SmallVector<Attribute> changed(imports.begin(), imports.end());
  for (Attribute &import : changed) {
    auto pair = dyn_cast<ArrayAttr>(import);
    auto version = pair && pair.size() == 2 ? dyn_cast<IntegerAttr>(pair[1])
                                            : IntegerAttr();
    if (!version)
      continue;
    auto name = dyn_cast<StringAttr>(pair[0]);
    StringRef domain = normalizeDomain(name ? name.getValue() : "");
    int64_t opset = getOpset(module, domain).value_or(0);
    if (opset <= version.getInt())
      continue;
    bool isSame =
        !function
             ->walk([&](Operation *op) {
               bool differs = isNode(op) && !isa<CustomOp>(op) &&
                              getDomain(op) == domain && !isSameAt(op, opset);
               return differs ? WalkResult::interrupt() : WalkResult::advance();
             })
             .wasInterrupted();
    if (isSame)
      import = builder.getArrayAttr(
          {pair[0], IntegerAttr::get(version.getType(), opset)});
  }
  function->setAttr(attr::opsets, builder.getArrayAttr(changed));
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
