//===- ConvertWeights.cpp - Constants that are only used in 16 bit --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Precision/Casts.h"
#include "mp-opt/Precision/Classification.h"
#include "mp-opt/Precision/Constants.h"
#include "mp-opt/Precision/FloatSignature.h"

namespace mp {
#define GEN_PASS_DEF_CONVERTWEIGHTS
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct ConvertWeights : public mp::impl::ConvertWeightsBase<ConvertWeights> {
  void runOnOperation() override;
};

} // namespace

/// The type to which inserted casts bring all uses of the value; null if a use
/// is another.
static Type getOnlyCastType(Value value) {
  Type type;
  for (Operation *user : value.getUsers()) {
    if (!isInsertedCast(user))
      return {};
    Type next = getTensorElementType(user->getResult(0).getType());
    if (type && next != type)
      return {};
    type = next;
  }
  return type;
}

/// The user wants the constant to stay what it is.
static bool isDenied(Operation *constant) {
  auto precision = constant->getAttrOfType<TypeAttr>(mark::precision);
  return precision && precision.getValue().isF32();
}

/// True if the schema in force lets the constant's result have the type.
static bool admitsResult(Operation *constant, Type elementType,
                         SchemaCache &schemas) {
  if (isa<InitializerOp>(constant))
    return true;
  const OpSchema *schema = schemas.lookup(constant).schema;
  return schema && !schema->outputs.empty() &&
         schema->typesOf(schema->outputs[0])
             .containsTensor(getElementKind(elementType));
}

void ConvertWeights::runOnOperation() {
  ModuleOp module = getOperation();
  StringSet<> trainingNames = collectTrainingNames(module);
  for (auto graph : module.getOps<GraphOp>()) {
    SchemaCache schemas(graph);
    SmallVector<Operation *> constants;
    graph->walk([&](Operation *op) {
      if (isConstant(op) && isF32Tensor(op->getResult(0).getType()) &&
          !trainingNames.contains(getValueName(op->getResult(0))))
        constants.push_back(op);
    });
    int64_t removed = 0;
    for (Operation *constant : constants) {
      Value value = constant->getResult(0);
      Type type = getOnlyCastType(value);
      if (!type || isDenied(constant) ||
          !admitsResult(constant, type, schemas) ||
          !convertConstant(constant, type))
        continue;
      for (Operation *cast : llvm::make_early_inc_range(value.getUsers())) {
        cast->getResult(0).replaceAllUsesWith(value);
        cast->erase();
        ++removed;
      }
    }
    if (removed)
      addToCounter(module, mark::castsRemoved, removed);
  }
}
