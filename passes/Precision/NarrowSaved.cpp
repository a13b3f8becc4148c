//===- NarrowSaved.cpp - Keep 16 bit for the backward pass ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Precision/Assignment/SavedValues.h"
#include "mp-opt/Precision/Patterns/Choices.h"

namespace mp {
#define GEN_PASS_DEF_NARROWSAVED
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct NarrowSaved : public mp::impl::NarrowSavedBase<NarrowSaved> {
  void runOnOperation() override;
};

} // namespace

/// The 16-bit value that an fp32 value was widened from, or null.
static Value findNarrow(Value value) {
  Operation *definer = value.getDefiningOp();
  bool isWidened = isInsertedCast(definer) &&
                   is16BitTensor(definer->getOperand(0).getType());
  return isWidened ? definer->getOperand(0) : Value();
}

/// The 16-bit copy of an fp32 value in the forward pass: the value that it was
/// widened from, or the one that it is narrowed to.
static Value findCopy(Value value, const SavedValues &saved) {
  if (Value narrow = findNarrow(value))
    return narrow;
  for (Operation *user : value.getUsers())
    if (isInsertedCast(user) && saved.forward.contains(user) &&
        is16BitTensor(user->getResult(0).getType()))
      return user->getResult(0);
  return {};
}

/// Operands that must not be rounded before a comparison or difference with a
/// value that a node computed from them.
static llvm::DenseSet<OpOperand *> findExactUses(GraphOp graph) {
  llvm::DenseSet<OpOperand *> uses;
  for (const Choice &choice :
       findChoices(graph, ChoiceKind::EqualityOrDifference)) {
    for (OpOperand &operand : choice.comparison->getOpOperands())
      uses.insert(&operand);
    for (Operation *movement : choice.movements)
      uses.insert(&movement->getOpOperand(0));
  }
  return uses;
}

void NarrowSaved::runOnOperation() {
  ModuleOp module = getOperation();
  GraphOp graph = getMainGraph(module);
  if (!graph)
    return;
  SavedValues saved = findSavedValues(graph);
  if (saved.values.empty())
    return addToCounter(module, mark::castsInserted, 0);
  llvm::DenseSet<OpOperand *> exact = findExactUses(graph);
  CastBuilder casts(module);
  int64_t added = 0;
  for (const SavedValue &entry : saved.values) {
    Value value = entry.value;
    Value copy =
        isF32Tensor(value.getType()) ? findCopy(value, saved) : Value();
    SmallVector<OpOperand *, 2> uses(entry.uses);
    // Uses that must stay exact are not narrowed, unless the value was 16 bit
    // before.
    if (!findNarrow(value))
      llvm::erase_if(uses, [&](OpOperand *use) {
        return exact.contains(use) ||
               use->getOwner()->hasAttr(mark::shapeArithmetic);
      });
    if (!copy || uses.empty())
      continue;
    Operation *first = nullptr;
    for (OpOperand *use : uses) {
      Operation *user =
          graph.getBody().findAncestorOpInRegion(*use->getOwner());
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    OpBuilder builder(first);
    Value wide = casts.create(builder, copy, Float32Type::get(&getContext()));
    ++added;
    for (OpOperand *use : uses)
      use->set(wide);
    // Erase a cast that widened the value for the backward pass only.
    if (Operation *definer = value.getDefiningOp();
        value.use_empty() && isInsertedCast(definer)) {
      definer->erase();
      --added;
    }
  }
  addToCounter(module, mark::castsInserted, added);
}
