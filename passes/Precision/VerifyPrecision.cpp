//===- VerifyPrecision.cpp - Check that the decision was carried out ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Precision/Casts.h"
#include "mp-opt/Precision/FloatSignature.h"

namespace mp {
#define GEN_PASS_DEF_VERIFYPRECISION
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct VerifyPrecision : public mp::impl::VerifyPrecisionBase<VerifyPrecision> {
  void runOnOperation() override;

private:
  LogicalResult verifyGraph(GraphOp graph);
  LogicalResult verifyNode(Operation *node, SchemaCache &schemas);
  LogicalResult verifyTypes(Operation *node, const FloatSignature &signature,
                            Type assigned);
  LogicalResult verifyInPlace(Operation *node);
  LogicalResult verifyInterface(GraphOp graph);
  void summarize();
  void count(Operation *node, Type assigned);

  int64_t nodesLow = 0, nodesF32 = 0, nodesOther = 0;
};

} // namespace

void VerifyPrecision::count(Operation *node, Type assigned) {
  if (isInsertedCast(node))
    return;
  bool yieldsFloat = llvm::any_of(node->getResultTypes(), [](Type type) {
    return isF32Tensor(type) || is16BitTensor(type);
  });
  if (!assigned || !yieldsFloat)
    ++nodesOther;
  else if (assigned.isF32())
    ++nodesF32;
  else
    ++nodesLow;
}

/// A pass, not the source, has given the value 16 bit.
static bool isNarrowed(Value value, SchemaCache &schemas) {
  Operation *op = value.getDefiningOp();
  if (!op || !is16BitTensor(value.getType()))
    return false;
  if (isInsertedCast(op))
    return true;
  auto precision = op->getAttrOfType<TypeAttr>(mark::precision);
  return precision && !precision.getValue().isF32() &&
         FloatSignature(op, schemas.lookup(op).schema)
             .hasResult(cast<OpResult>(value).getResultNumber());
}

/// Operands that no decision covers have the types that they had.
static LogicalResult verifyOthers(Operation *op, SchemaCache &schemas,
                                  const FloatSignature &signature = {}) {
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (!signature.hasOperand(index) && isNarrowed(operand, schemas))
      return op->emitError() << describe(op) << ": operand #" << index
                             << " keeps its type, got " << operand.getType();
  return success();
}

LogicalResult VerifyPrecision::verifyTypes(Operation *node,
                                           const FloatSignature &signature,
                                           Type assigned) {
  ElementKind kind = getElementKind(assigned);
  if (signature.getKind() != kind && signature.getKind() != ElementKind::Double)
    return node->emitError()
           << describe(node) << ": assigned " << getPrecisionName(assigned)
           << ", got operands of " << getElementKindName(signature.getKind());
  if (signature.hasIndependentTypes())
    return success();
  for (OpResult result : node->getResults()) {
    bool isChosen =
        isF32Tensor(result.getType()) || is16BitTensor(result.getType());
    if (isChosen && signature.hasResult(result.getResultNumber()) &&
        getTensorElementType(result.getType()) != assigned)
      return node->emitError()
             << describe(node) << ": assigned " << getPrecisionName(assigned)
             << ", got a result of type " << result.getType();
  }
  if (!signature.admits(signature.getKind()))
    return node->emitError()
           << describe(node) << ": assigned " << getPrecisionName(assigned)
           << ", which its schema does not admit";
  return success();
}

LogicalResult VerifyPrecision::verifyInPlace(Operation *node) {
  StringRef domain = getDomain(node), opType = getOpType(node);
  if (!updatesInPlace(domain, opType))
    return success();
  for (auto [index, operand] : llvm::enumerate(node->getOperands()))
    if (isUpdatedInPlace(domain, opType, index) &&
        isInsertedCast(operand.getDefiningOp()))
      return node->emitError()
             << describe(node) << ": operand #" << index
             << " is updated in place, but stands behind a cast";
  return success();
}

LogicalResult VerifyPrecision::verifyNode(Operation *node,
                                          SchemaCache &schemas) {
  auto precision = node->getAttrOfType<TypeAttr>(mark::precision);
  count(node, precision ? precision.getValue() : Type());
  if (failed(verifyInPlace(node)))
    return failure();
  FloatSignature signature(node, schemas.lookup(node).schema);
  if (precision && signature &&
      failed(verifyTypes(node, signature, precision.getValue())))
    return failure();
  return isInsertedCast(node) ? success()
                              : verifyOthers(node, schemas, signature);
}

/// Compares types with those of the array attribute `name`.
static LogicalResult compareTypes(ModuleOp module, StringRef name,
                                  TypeRange types, StringRef what) {
  auto expected = module->getAttrOfType<ArrayAttr>(name);
  if (!expected)
    return success();
  for (auto [index, type] : llvm::enumerate(types)) {
    auto before = index < expected.size() ? dyn_cast<TypeAttr>(expected[index])
                                          : TypeAttr();
    if (!before || before.getValue() != type)
      return module.emitError()
             << "graph " << what << " #" << index << " has type " << type
             << ", expected " << (before ? before.getValue() : Type());
  }
  return success();
}

LogicalResult VerifyPrecision::verifyInterface(GraphOp graph) {
  YieldOp yield = getYield(graph.getBody());
  ModuleOp module = getOperation();
  if (failed(compareTypes(module, mark::inputTypes,
                          graph.getBody().front().getArgumentTypes(), "input")))
    return failure();
  return compareTypes(module, mark::outputTypes,
                      yield ? TypeRange(yield->getOperandTypes()) : TypeRange(),
                      "output");
}

LogicalResult VerifyPrecision::verifyGraph(GraphOp graph) {
  SchemaCache schemas(graph);
  WalkResult result = graph->walk([&](Operation *op) {
    bool isWrong = isNode(op)
                       ? failed(verifyNode(op, schemas))
                       : isa<YieldOp>(op) && failed(verifyOthers(op, schemas));
    return isWrong ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted() || failed(verifyInterface(graph)));
}

static void stripMarks(Operation *op) {
  SmallVector<NamedAttribute> kept;
  for (NamedAttribute attribute : op->getAttrs())
    if (!attribute.getName().strref().starts_with("mp."))
      kept.push_back(attribute);
  if (kept.size() != op->getAttrs().size())
    op->setAttrs(DictionaryAttr::getWithSorted(op->getContext(), kept));
}

void VerifyPrecision::summarize() {
  ModuleOp module = getOperation();
  Builder builder(&getContext());
  auto low = module->getAttrOfType<TypeAttr>(mark::low);
  auto counter = [&](StringRef name) -> Attribute {
    auto count = module->getAttrOfType<IntegerAttr>(name);
    return builder.getI64IntegerAttr(count ? count.getInt() : 0);
  };
  auto summary = builder.getDictionaryAttr({
      {builder.getStringAttr("casts_inserted"), counter(mark::castsInserted)},
      {builder.getStringAttr("casts_removed"), counter(mark::castsRemoved)},
      {builder.getStringAttr("nodes_f32"), builder.getI64IntegerAttr(nodesF32)},
      {builder.getStringAttr("nodes_low"), builder.getI64IntegerAttr(nodesLow)},
      {builder.getStringAttr("nodes_other"),
       builder.getI64IntegerAttr(nodesOther)},
      {builder.getStringAttr("precision"),
       builder.getStringAttr(low ? getPrecisionName(low.getValue()) : "")},
  });
  module->walk(stripMarks);
  module->setAttr(mark::summary, summary);
}

void VerifyPrecision::runOnOperation() {
  nodesLow = nodesF32 = nodesOther = 0;
  for (auto graph : getOperation().getOps<GraphOp>())
    if (failed(verifyGraph(graph)))
      return signalPassFailure();
  summarize();
}
