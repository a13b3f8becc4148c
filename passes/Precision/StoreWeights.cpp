//===- StoreWeights.cpp - Store weights of fp32 nodes in 16 bit -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Graph/Parameters.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"

namespace mp {
#define GEN_PASS_DEF_STOREWEIGHTS
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct StoreWeights : public mp::impl::StoreWeightsBase<StoreWeights> {
  using StoreWeightsBase::StoreWeightsBase;

  void runOnOperation() override;

private:
  bool store(Operation *constant, Type lowType, CastBuilder &casts);
};

} // namespace

/// True for a node that only the runtime keeps fp32: the policy allows it, or
/// it looks up rows of a table.
static bool wouldRunLow(Operation *node) {
  if (!node->hasAttr(mark::noKernel) || hasClass(node, OpClass::Deny))
    return false;
  return hasClass(node, OpClass::Allow) || getOperatorTraits(node).looksUp();
}

/// True if all nodes that read a value, through movements of data too, would
/// run in 16 bit.
static bool hasOnlyLowReaders(Value value) {
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    for (OpOperand &use : worklist.pop_back_val().getUses()) {
      Operation *reader = use.getOwner();
      if (isa<YieldOp>(reader) || isa<CustomOp>(reader))
        return false;
      const OperatorTraits &traits = getOperatorTraits(reader);
      if (traits.keepsType(use.getOperandNumber()))
        return false;
      if (wouldRunLow(reader))
        continue;
      if (traits.kind != OperatorKind::Movement ||
          hasClass(reader, OpClass::Deny) || reader->getNumResults() != 1)
        return false;
      worklist.push_back(reader->getResult(0));
    }
  }
  return !value.use_empty();
}

/// Gives a constant 16-bit elements and a cast back to fp32 for its readers.
/// Constant admits the type wherever Cast does.
bool StoreWeights::store(Operation *constant, Type lowType,
                         CastBuilder &casts) {
  Value value = constant->getResult(0);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  // Biases are small, and OpenVINO 2026.4 misreads some that are cast.
  if (!type || !type.hasStaticShape() || type.getRank() < 2 ||
      type.getNumElements() * 4 < minBytes || !hasOnlyLowReaders(value) ||
      !ConstantRange(getElementKind(lowType)).fits(constant))
    return false;
  if (!convertConstant(constant, lowType))
    return false;
  SmallVector<OpOperand *> uses =
      llvm::map_to_vector(value.getUses(), [](OpOperand &use) { return &use; });
  Value cast = casts.create(value, type.getElementType());
  for (OpOperand *use : uses)
    use->set(cast);
  return true;
}

void StoreWeights::runOnOperation() {
  ModuleOp module = getOperation();
  Type lowType = getLowType(module);
  if (!lowType)
    return;
  llvm::StringSet<> trainingNames = collectTrainingNames(module);
  CastBuilder casts(module);
  int64_t count = 0;
  for (Operation *scope : getScopes(module)) {
    if (!admitsCast(scope, getElementKind(lowType)))
      continue;
    SmallVector<Operation *> constants;
    scope->walk([&](Operation *op) {
      if (mp::isConstant(op) && isF32Tensor(op->getResult(0).getType()) &&
          !trainingNames.contains(onnxir::getValueName(op->getResult(0))))
        constants.push_back(op);
    });
    for (Operation *constant : constants)
      count += store(constant, lowType, casts);
  }
  if (count)
    addToCounter(module, mark::castsInserted, count);
}
