//===- VerifyPrecision.cpp - Check that the decision was carried out ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/LosslessCasts.h"
#include "mp-opt/Precision/Analysis/QuantizedPairs.h"
#include "mp-opt/Precision/Assignment/FloatTypeVariables.h"
#include "mp-opt/Precision/Assignment/PrecisionRemarks.h"
#include "mp-opt/Precision/Policy/InterfaceTypes.h"

#include "mlir/IR/Remarks.h"

namespace mp {
#define GEN_PASS_DEF_VERIFYPRECISION
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct VerifyPrecision : public mp::impl::VerifyPrecisionBase<VerifyPrecision> {
  using VerifyPrecisionBase::VerifyPrecisionBase;

  void runOnOperation() override;

private:
  LogicalResult verifyScope(Operation *scope, const FunctionTable &functions);
  LogicalResult verifyNode(Operation *node,
                           ArrayRef<FloatTypeVariable> variables,
                           const OpSchema *schema);
  LogicalResult verifyVariable(Operation *node,
                               const FloatTypeVariable &variable, Type assigned,
                               const OpSchema *schema);
  LogicalResult verifyOthers(Operation *op);
  LogicalResult verifyInPlace(Operation *node);
  LogicalResult verifyInterface(GraphOp graph);
  void collectInterface(GraphOp graph);
  void summarize();
  void count(Operation *node, Type assigned);

  int64_t nodesLow = 0, nodesF32 = 0, nodesOther = 0;
  /// Values to which a pass, not the source, has given 16 bit, and operands
  /// that are to take them.
  llvm::DenseSet<Value> narrowed;
  llvm::DenseSet<OpOperand *> takers;
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

/// The interface takes and yields the types that the user wants. Casts of the
/// model read inputs of all types.
void VerifyPrecision::collectInterface(GraphOp graph) {
  InterfaceTypes wanted(getOperation());
  Type low = getLowType(getOperation());
  for (BlockArgument argument : graph.getBody().getArguments())
    if (low && wanted.getInput(argument.getArgNumber()) == low)
      narrowed.insert(argument);
  if (YieldOp yield = getYield(graph.getBody()))
    for (OpOperand &output : yield->getOpOperands())
      if (wanted.getOutput(output.getOperandNumber()))
        takers.insert(&output);
}

/// Operands without a decision keep their types.
LogicalResult VerifyPrecision::verifyOthers(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (narrowed.contains(operand.get()) && !takers.contains(&operand))
      return op->emitError()
             << describe(op) << ": operand #" << operand.getOperandNumber()
             << " keeps its type, got " << operand.get().getType();
  return success();
}

/// Checks that all values of the variable have the assigned type, and that the
/// schema admits it.
LogicalResult VerifyPrecision::verifyVariable(Operation *node,
                                              const FloatTypeVariable &variable,
                                              Type assigned,
                                              const OpSchema *schema) {
  auto check = [&](Type type, const Twine &what) -> LogicalResult {
    Type element = getFloatElement(type);
    if (!element || element == assigned || element.isF64())
      return success();
    return node->emitError()
           << describe(node) << ": assigned " << getPrecisionName(assigned)
           << ", got " << what << " of type " << type;
  };
  for (OpOperand *read : variable.reads)
    if (failed(check(read->get().getType(),
                     "operand #" + Twine(read->getOperandNumber()))))
      return failure();
  for (OpOperand *yield : variable.yields)
    if (failed(check(yield->get().getType(),
                     "yielded value #" + Twine(yield->getOperandNumber()))))
      return failure();
  for (Value write : variable.writes)
    if (failed(check(write.getType(), isa<OpResult>(write)
                                          ? "a result"
                                          : "an argument of a region")))
      return failure();
  ElementKind kind = getElementKind(assigned);
  if (schema && variable.kind == kind && !variable.admits(*schema, kind))
    return node->emitError()
           << describe(node) << ": assigned " << getPrecisionName(assigned)
           << ", which its schema does not admit";
  return success();
}

LogicalResult VerifyPrecision::verifyInPlace(Operation *node) {
  const OperatorTraits &traits = getOperatorTraits(node);
  if (!traits.hasRole(OperandRole::InPlace))
    return success();
  for (auto [index, operand] : llvm::enumerate(node->getOperands()))
    if (traits.hasRole(OperandRole::InPlace, index) &&
        isInsertedCast(operand.getDefiningOp()))
      return node->emitError()
             << describe(node) << ": operand #" << index
             << " is updated in place, but is the result of a cast";
  return success();
}

LogicalResult VerifyPrecision::verifyNode(Operation *node,
                                          ArrayRef<FloatTypeVariable> variables,
                                          const OpSchema *schema) {
  count(node, getPrecisionType(node));
  if (failed(verifyInPlace(node)))
    return failure();
  for (auto [index, variable] : llvm::enumerate(variables)) {
    Type assigned = getAssignedType(node, index);
    if (assigned && !variable.isIndependent &&
        failed(verifyVariable(node, variable, assigned, schema)))
      return failure();
  }
  return success();
}

/// Compares types with those of the array attribute `name`, or with the element
/// types that mp-set-io-types wants instead.
static LogicalResult
compareTypes(ModuleOp module, StringRef name, TypeRange types, StringRef what,
             llvm::function_ref<Type(unsigned)> getWanted) {
  auto expected = module->getAttrOfType<ArrayAttr>(name);
  if (!expected)
    return success();
  for (auto [index, type] : llvm::enumerate(types)) {
    auto before = index < expected.size() ? dyn_cast<TypeAttr>(expected[index])
                                          : TypeAttr();
    Type right = before ? before.getValue() : Type();
    if (Type wanted = getWanted(index); wanted && right)
      right = withElementType(right, wanted);
    if (right != type)
      return module.emitError()
             << "graph " << what << " #" << index << " has type " << type
             << ", expected " << right;
  }
  return success();
}

LogicalResult VerifyPrecision::verifyInterface(GraphOp graph) {
  YieldOp yield = getYield(graph.getBody());
  ModuleOp module = getOperation();
  InterfaceTypes wanted(module);
  if (failed(compareTypes(
          module, mark::inputTypes, graph.getBody().front().getArgumentTypes(),
          "input", [&](unsigned index) { return wanted.getInput(index); })))
    return failure();
  return compareTypes(module, mark::outputTypes,
                      yield ? TypeRange(yield->getOperandTypes()) : TypeRange(),
                      "output",
                      [&](unsigned index) { return wanted.getOutput(index); });
}

LogicalResult VerifyPrecision::verifyScope(Operation *scope,
                                           const FunctionTable &functions) {
  if (auto graph = dyn_cast<GraphOp>(scope))
    collectInterface(graph);
  SchemaCache schemas(scope);
  WalkResult result = scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isNode(op))
      return WalkResult::advance();
    const OpSchema *schema = schemas.lookup(op).schema;
    FloatTypeVariables variables = getFloatTypeVariables(op, schema, functions);
    for (auto [index, variable] : llvm::enumerate(variables)) {
      Type assigned = getAssignedType(op, index);
      if (!assigned || assigned.isF32())
        continue;
      takers.insert(variable.reads.begin(), variable.reads.end());
      takers.insert(variable.yields.begin(), variable.yields.end());
      narrowed.insert(variable.writes.begin(), variable.writes.end());
    }
    // A scale may have a type of its own.
    if (Type assigned = getAssignedType(op, 0);
        assigned && !assigned.isF32() && (isQuantizer(op) || isDequantizer(op)))
      takers.insert(&op->getOpOperand(1));
    if (isInsertedCast(op)) {
      takers.insert(&op->getOpOperand(0));
      if (is16BitTensor(op->getResult(0).getType()))
        narrowed.insert(op->getResult(0));
    }
    return failed(verifyNode(op, variables, schema)) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void VerifyPrecision::summarize() {
  ModuleOp module = getOperation();
  Builder builder(&getContext());
  Type low = getLowType(module);
  auto counter = [&](StringRef name) -> Attribute {
    auto count = module->getAttrOfType<IntegerAttr>(name);
    return builder.getI64IntegerAttr(count ? count.getInt() : 0);
  };
  NamedAttrList summary(ArrayRef<NamedAttribute>{
      {builder.getStringAttr("casts_inserted"), counter(mark::castsInserted)},
      {builder.getStringAttr("casts_removed"), counter(mark::castsRemoved)},
      {builder.getStringAttr("cost_bytes"), counter(mark::costBytes)},
      {builder.getStringAttr("nodes_f32"), builder.getI64IntegerAttr(nodesF32)},
      {builder.getStringAttr("nodes_low"), builder.getI64IntegerAttr(nodesLow)},
      {builder.getStringAttr("nodes_other"),
       builder.getI64IntegerAttr(nodesOther)},
      {builder.getStringAttr("precision"),
       builder.getStringAttr(low ? getPrecisionName(low) : "")},
  });
  // Counters that are absent in most models.
  for (StringRef name : {mark::elementsToZero, mark::masksClamped})
    if (Attribute count = module->getAttr(name))
      summary.set(name.drop_front(3), count);
  module->setAttr(mark::summary, summary.getDictionary(&getContext()));
}

/// Emits a remark for every remaining cast, with the users that need it.
static void emitCastRemarks(ModuleOp module) {
  if (!module.getContext()->getRemarkEngine())
    return;
  module->walk([](Operation *op) {
    if (isInsertedCast(op))
      emitCastRemark(op);
  });
}

void VerifyPrecision::runOnOperation() {
  nodesLow = nodesF32 = nodesOther = 0;
  narrowed.clear();
  takers.clear();
  FunctionTable functions(getOperation());
  SmallVector<Operation *> scopes = getScopes(getOperation());
  for (Operation *scope : scopes)
    if (failed(verifyScope(scope, functions)))
      return signalPassFailure();
  for (Operation *scope : scopes) {
    WalkResult result = scope->walk([&](Operation *op) {
      return failed(verifyOthers(op)) ? WalkResult::interrupt()
                                      : WalkResult::advance();
    });
    auto graph = dyn_cast<GraphOp>(scope);
    if (result.wasInterrupted() || (graph && failed(verifyInterface(graph))))
      return signalPassFailure();
  }
  // Values and casts of the model may have the same type now.
  if (int64_t removed = removeLosslessCasts(getOperation()))
    addToCounter(getOperation(), mark::castsRemoved, removed);
  summarize();
  emitCastRemarks(getOperation());
  if (!keepMarks)
    stripMarks(getOperation());
}
