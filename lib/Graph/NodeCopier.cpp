//===- NodeCopier.cpp - Copies of nodes under new names -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/NodeCopier.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

StringRef NodeCopier::getNewName(StringRef name) {
  if (name.empty())
    return name;
  auto [it, isNew] = names.try_emplace(name);
  if (isNew)
    it->second = builder.getNames().getValueName(Twine(prefix) + "/" + name);
  return it->second;
}

/// The descriptions of values, under their new names.
static ArrayAttr renameInfos(ArrayAttr infos,
                             llvm::function_ref<StringRef(StringRef)> rename) {
  SmallVector<Attribute> entries;
  for (Attribute entry : infos) {
    NamedAttrList fields(dyn_cast<DictionaryAttr>(entry));
    if (auto name = dyn_cast_or_null<StringAttr>(fields.get("name")))
      fields.set("name",
                 StringAttr::get(infos.getContext(), rename(name.getValue())));
    entries.push_back(fields.getDictionary(infos.getContext()));
  }
  return ArrayAttr::get(infos.getContext(), entries);
}

void NodeCopier::rename(Operation *op) {
  Builder attributes(op->getContext());
  if (auto yield = dyn_cast<YieldOp>(op)) {
    for (StringRef list : {attr::inputs, attr::outputs, attr::valueInfo})
      if (auto infos = yield->getAttrOfType<ArrayAttr>(list))
        yield->setAttr(list, renameInfos(infos, [&](StringRef name) {
                         return getNewName(name);
                       }));
    return;
  }
  if (isNode(op)) {
    StringRef name = getNodeName(op);
    std::string base =
        prefix + "/" + (name.empty() ? getOpType(op) : name).str();
    op->setAttr(attr::name,
                attributes.getStringAttr(builder.getNames().getNodeName(base)));
  }
  for (OpResult result : op->getResults())
    if (StringRef name = onnxir::getValueName(result); !name.empty())
      setValueName(result, getNewName(name));
}

SmallVector<Operation *> NodeCopier::copy(Block &block) {
  SmallVector<Operation *> nodes;
  for (Operation &op : block) {
    if (isa<YieldOp>(op))
      continue;
    Operation *clone = builder.getBuilder().clone(op, mapping);
    clone->walk([&](Operation *inner) { rename(inner); });
    if (isNode(clone))
      nodes.push_back(clone);
  }
  return nodes;
}

} // namespace mp
