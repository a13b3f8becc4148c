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
#include "mp-opt/Precision/Functions.h"

namespace mp {
#define GEN_PASS_DEF_CONVERTWEIGHTS
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct ConvertWeights : public mp::impl::ConvertWeightsBase<ConvertWeights> {
  using ConvertWeightsBase::ConvertWeightsBase;

  void runOnOperation() override;

private:
  void convert(Operation *constant, SchemaCache &schemas);
  Operation *copy(Operation *constant, Operation *cast);

  int64_t removed = 0;
};

} // namespace

/// How a constant is used.
namespace {
struct ConstantUses {
  /// Inserted casts to one 16-bit type.
  SmallVector<Operation *> casts;
  Type castType;
  /// There are others.
  bool hasOther = false;
};
} // namespace

static ConstantUses collectUses(Value value) {
  ConstantUses uses;
  for (Operation *user : value.getUsers()) {
    Type type = isInsertedCast(user)
                    ? getTensorElementType(user->getResult(0).getType())
                    : Type();
    if (!type || (uses.castType && type != uses.castType)) {
      uses.hasOther = true;
      continue;
    }
    uses.castType = type;
    uses.casts.push_back(user);
  }
  return uses;
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

/// A second constant with the type and the names of the cast; null if its
/// form does not allow it or it is too big.
Operation *ConvertWeights::copy(Operation *constant, Operation *cast) {
  auto type = dyn_cast<RankedTensorType>(cast->getResult(0).getType());
  StringRef name = onnxir::getValueName(cast->getResult(0));
  if (!type || name.empty() || !type.hasStaticShape() ||
      type.getNumElements() > maxWeightCopy / 2 ||
      isStandardOp(constant, "ConstantOfShape"))
    return nullptr;
  OpBuilder builder(constant);
  builder.setInsertionPointAfter(constant);
  Operation *clone = builder.clone(*constant);
  if (!convertConstant(clone, type.getElementType())) {
    clone->erase();
    return nullptr;
  }
  if (clone->hasAttr(attr::name))
    clone->setAttr(attr::name, cast->getAttr(attr::name));
  setValueName(clone->getResult(0), name);
  return clone;
}

void ConvertWeights::convert(Operation *constant, SchemaCache &schemas) {
  ConstantUses uses = collectUses(constant->getResult(0));
  if (uses.casts.empty() || isDenied(constant) ||
      !admitsResult(constant, uses.castType, schemas))
    return;
  Operation *converted = constant;
  if (uses.hasOther)
    converted = copy(constant, uses.casts.front());
  else if (!convertConstant(constant, uses.castType))
    return;
  if (!converted)
    return;
  for (Operation *cast : uses.casts) {
    cast->getResult(0).replaceAllUsesWith(converted->getResult(0));
    cast->erase();
    ++removed;
  }
}

void ConvertWeights::runOnOperation() {
  ModuleOp module = getOperation();
  StringSet<> trainingNames = collectTrainingNames(module);
  removed = 0;
  for (Operation *scope : getScopes(module)) {
    SchemaCache schemas(scope);
    SmallVector<Operation *> constants;
    scope->walk([&](Operation *op) {
      if (isConstant(op) && isF32Tensor(op->getResult(0).getType()) &&
          !trainingNames.contains(onnxir::getValueName(op->getResult(0))))
        constants.push_back(op);
    });
    for (Operation *constant : constants)
      convert(constant, schemas);
  }
  if (removed)
    addToCounter(module, mark::castsRemoved, removed);
}
