//===- InsertCasts.cpp - Give values the assigned types -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First all operands that want 16 bit are collected, while every node still
// has the types it was decided by; then results are retyped, and each use that
// wants another type than its value has gets that value's one cast.
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Precision/Casts.h"
#include "mp-opt/Precision/TypeSlots.h"

namespace mp {
#define GEN_PASS_DEF_INSERTCASTS
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct InsertCasts : public mp::impl::InsertCastsBase<InsertCasts> {
  void runOnOperation() override;
};

class CastInserter {
public:
  CastInserter(ModuleOp module, Type lowType)
      : module(module), lowType(lowType), builder(module), functions(module) {}

  void run();
  int64_t getCount() const { return casts.size(); }

private:
  void collect(Operation *op, SchemaCache &schemas);
  Value getCast(Value value, Type elementType);

  ModuleOp module;
  Type lowType;
  CastBuilder builder;
  FunctionTable functions;
  /// Operands that want 16 bit, and values that become it, in order.
  SmallVector<OpOperand *> lowOperands;
  SmallVector<Value> lowValues;
  llvm::DenseMap<std::pair<Value, Type>, Value> casts;
};

} // namespace

void CastInserter::collect(Operation *op, SchemaCache &schemas) {
  if (!op->hasAttr(mark::precision) && !op->hasAttr(mark::slots))
    return;
  TypeSlots slots = getTypeSlots(op, schemas.lookup(op).schema, functions);
  for (auto [index, slot] : llvm::enumerate(slots)) {
    if (getAssignedType(op, index) != lowType ||
        slot.kind != ElementKind::Float)
      continue;
    lowOperands.append(slot.reads.begin(), slot.reads.end());
    lowOperands.append(slot.yields.begin(), slot.yields.end());
    lowValues.append(slot.writes.begin(), slot.writes.end());
  }
}

Value CastInserter::getCast(Value value, Type elementType) {
  Value &cast = casts[{value, elementType}];
  if (cast)
    return cast;
  OpResult result = builder.create(value, elementType);
  // What ends a graph gives its output the name.
  bool isYielded = llvm::any_of(
      value.getUsers(), [](Operation *user) { return isa<YieldOp>(user); });
  if (auto source = dyn_cast<OpResult>(value);
      source && isYielded && elementType.isF32()) {
    std::string name = onnxir::getValueName(value).str();
    setValueName(source, builder.getNames().getValueName(
                             name + "_" + getPrecisionName(lowType).str()));
    setValueName(result, name);
  }
  return cast = result;
}

void CastInserter::run() {
  for (Operation *scope : getScopes(module)) {
    SchemaCache schemas(scope);
    scope->walk<WalkOrder::PreOrder>(
        [&](Operation *op) { collect(op, schemas); });
  }
  for (Value value : lowValues)
    if (holdsF32(value.getType()))
      value.setType(withFloatElement(value.getType(), lowType));
  for (OpOperand *operand : lowOperands)
    if (isF32Tensor(operand->get().getType()))
      operand->set(getCast(operand->get(), lowType));
  llvm::DenseSet<OpOperand *> wanted(lowOperands.begin(), lowOperands.end());
  for (Value value : lowValues)
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses()))
      if (!wanted.contains(&use) && !isInsertedCast(use.getOwner()) &&
          is16BitTensor(value.getType()))
        use.set(getCast(value, Float32Type::get(value.getContext())));
}

void InsertCasts::runOnOperation() {
  ModuleOp module = getOperation();
  auto low = module->getAttrOfType<TypeAttr>(mark::low);
  if (!low)
    return;
  CastInserter inserter(module, low.getValue());
  inserter.run();
  addToCounter(module, mark::castsInserted, inserter.getCount());
}
