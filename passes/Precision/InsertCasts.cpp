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
#include "mp-opt/Precision/FloatSignature.h"

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
  CastInserter(GraphOp graph, Type lowType, CastBuilder &builder)
      : graph(graph), lowType(lowType), builder(builder), schemas(graph) {}

  void run();
  int64_t getCount() const { return casts.size(); }

private:
  void collect(Operation *op);
  Value getCast(Value value, Type elementType);

  GraphOp graph;
  Type lowType;
  CastBuilder &builder;
  SchemaCache schemas;
  /// Operands that want 16 bit, and results that become it, in order.
  SmallVector<OpOperand *> lowOperands;
  SmallVector<OpResult> lowResults;
  llvm::DenseMap<std::pair<Value, Type>, Value> casts;
};

} // namespace

void CastInserter::collect(Operation *op) {
  auto precision = op->getAttrOfType<TypeAttr>(mark::precision);
  if (!precision || precision.getValue() != lowType)
    return;
  FloatSignature signature(op, schemas.lookup(op).schema);
  if (!signature || signature.getKind() != ElementKind::Float)
    return;
  for (unsigned index : signature.getOperands())
    lowOperands.push_back(&op->getOpOperand(index));
  for (OpResult result : op->getResults())
    if (signature.hasResult(result.getResultNumber()) &&
        isF32Tensor(result.getType()))
      lowResults.push_back(result);
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
  graph->walk<WalkOrder::PreOrder>([&](Operation *op) { collect(op); });
  for (OpResult result : lowResults)
    result.setType(withElementType(result.getType(), lowType));
  for (OpOperand *operand : lowOperands)
    if (isF32Tensor(operand->get().getType()))
      operand->set(getCast(operand->get(), lowType));
  llvm::DenseSet<OpOperand *> wanted(lowOperands.begin(), lowOperands.end());
  for (OpResult result : lowResults)
    for (OpOperand &use : llvm::make_early_inc_range(result.getUses()))
      if (!wanted.contains(&use) && !isInsertedCast(use.getOwner()))
        use.set(getCast(result, Float32Type::get(result.getContext())));
}

void InsertCasts::runOnOperation() {
  ModuleOp module = getOperation();
  auto low = module->getAttrOfType<TypeAttr>(mark::low);
  if (!low)
    return;
  CastBuilder builder(module);
  for (auto graph : module.getOps<GraphOp>()) {
    CastInserter inserter(graph, low.getValue(), builder);
    inserter.run();
    addToCounter(module, mark::castsInserted, inserter.getCount());
  }
}
