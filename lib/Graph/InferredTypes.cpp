//===- InferredTypes.cpp - Types that a model does not store --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/InferredTypes.h"

#include "mp-opt/Dialect/MP/Attributes.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The op's results and the inputs of its subgraphs.
static SmallVector<Value> getDefinitions(Operation *op) {
  SmallVector<Value> values(op->getResults());
  for (Region &region : op->getRegions())
    llvm::append_range(values, region.getArguments());
  return values;
}

bool InferredTypes::reach(Operation *op) const {
  if (changed.empty())
    return false;
  auto isChanged = [&](Value value) { return changed.contains(value); };
  if (llvm::any_of(op->getOperands(), isChanged))
    return true;
  return llvm::any_of(op->getRegions(), [&](Region &region) {
    YieldOp yield = getYield(region);
    return yield && llvm::any_of(yield->getOperands(), isChanged);
  });
}

void InferredTypes::keep(Operation *op) {
  if (op->hasAttr(mark::untyped))
    return;
  SmallVector<Type> before;
  for (Value value : getDefinitions(op))
    before.push_back(value.getType());
  if (llvm::any_of(before, isVague))
    op->setAttr(mark::untyped,
                Builder(op->getContext()).getTypeArrayAttr(before));
}

void InferredTypes::note(Operation *op) {
  auto before = op->getAttrOfType<ArrayAttr>(mark::untyped);
  if (!before)
    return;
  bool isSame = true;
  for (auto [value, old] : llvm::zip(getDefinitions(op), before)) {
    auto type = dyn_cast<TypeAttr>(old);
    if (!type || type.getValue() == value.getType())
      continue;
    isSame = false;
    changed.insert(value);
  }
  if (isSame)
    op->removeAttr(mark::untyped);
}

void InferredTypes::restore(Operation *op) {
  auto untyped = op->getAttrOfType<ArrayAttr>(mark::untyped);
  if (!untyped)
    return;
  for (auto [value, entry] : llvm::zip(getDefinitions(op), untyped)) {
    auto before = dyn_cast<TypeAttr>(entry);
    if (before && (isa<UnknownType>(before.getValue()) ||
                   before.getValue() == withoutShape(value.getType())))
      value.setType(before.getValue());
  }
  op->removeAttr(mark::untyped);
}

} // namespace mp
