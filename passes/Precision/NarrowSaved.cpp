//===- NarrowSaved.cpp - Keep 16 bit for the backward pass ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Precision/Casts.h"
#include "mp-opt/Precision/FloatSignature.h"
#include "mp-opt/Precision/SavedValues.h"

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

/// The 16-bit copy of an fp32 value that the forward pass has: what the value
/// was widened from, or what it is narrowed to.
static Value findCopy(Value value, const SavedValues &saved) {
  Operation *definer = value.getDefiningOp();
  if (isInsertedCast(definer) &&
      is16BitTensor(definer->getOperand(0).getType()))
    return definer->getOperand(0);
  for (Operation *user : value.getUsers())
    if (isInsertedCast(user) && saved.forward.contains(user) &&
        is16BitTensor(user->getResult(0).getType()))
      return user->getResult(0);
  return {};
}

void NarrowSaved::runOnOperation() {
  ModuleOp module = getOperation();
  GraphOp graph = getMainGraph(module);
  if (!graph)
    return;
  SavedValues saved = findSavedValues(graph);
  CastBuilder casts(module);
  int64_t added = 0;
  for (const SavedValue &entry : saved.values) {
    Value value = entry.value;
    Value copy =
        isF32Tensor(value.getType()) ? findCopy(value, saved) : Value();
    if (!copy)
      continue;
    Operation *first = nullptr;
    for (OpOperand *use : entry.uses) {
      Operation *user =
          graph.getBody().findAncestorOpInRegion(*use->getOwner());
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    OpBuilder builder(first);
    Value wide = casts.create(builder, copy, Float32Type::get(&getContext()));
    ++added;
    for (OpOperand *use : entry.uses)
      use->set(wide);
    // What was widened for the backward pass alone.
    if (Operation *definer = value.getDefiningOp();
        value.use_empty() && isInsertedCast(definer)) {
      definer->erase();
      --added;
    }
  }
  addToCounter(module, mark::castsInserted, added);
}
