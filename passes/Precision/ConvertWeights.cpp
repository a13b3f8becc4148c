//===- ConvertWeights.cpp - Constants that are only used in 16 bit --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Graph/Parameters.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Precision/Analysis/QuantizedPairs.h"
#include "mp-opt/Precision/Assignment/PrecisionRemarks.h"
#include "mp-opt/Precision/Patterns/MaskAnalysis.h"

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
  void convertScope(Operation *scope, const StringSet<> &trainingNames);
  void convert(Operation *constant, SchemaCache &schemas);
  Operation *copy(Operation *constant, Operation *cast, bool isAnySize);
  void clampNarrowedMasks(Operation *scope);
  void report(Operation *constant, Type type);
  void reportOverflow(Operation *constant);

  int64_t removed = 0, elementsToZero = 0, masksClamped = 0;
};

} // namespace

/// The uses of a constant.
namespace {
struct ConstantUses {
  /// Inserted casts to one 16-bit type.
  SmallVector<Operation *> casts;
  Type castType;
  /// True if there are other uses.
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

/// True if the user wants the constant to stay as it is.
static bool isDenied(Operation *constant) {
  Type precision = getPrecisionType(constant);
  return precision && precision.isF32();
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

/// True if only scales of quantized values are cast: no cast may stand there.
static bool isScale(ArrayRef<Operation *> casts) {
  return llvm::all_of(casts, [](Operation *cast) {
    return llvm::all_of(cast->getUses(), isQuantizationParameter);
  });
}

/// A second constant with the type and the names of the cast; null if its
/// form does not allow it or, unless any size is wanted, it is too big.
Operation *ConvertWeights::copy(Operation *constant, Operation *cast,
                                bool isAnySize) {
  auto type = dyn_cast<RankedTensorType>(cast->getResult(0).getType());
  StringRef name = onnxir::getValueName(cast->getResult(0));
  if (!type || name.empty() || !type.hasStaticShape() ||
      (!isAnySize && type.getNumElements() > maxWeightCopy / 2) ||
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

/// Reports how the elements of a constant that now has `type` have changed.
/// Uses the facts that an earlier pass has collected.
void ConvertWeights::report(Operation *constant, Type type) {
  ModuleOp module = getOperation();
  Type low = getLowType(module);
  if (!low || !constant->hasAttr(mark::range))
    return;
  ConstantRange range(getElementKind(low));
  const ConstantFacts &facts = range.getFacts(constant);
  StringRef to = getPrecisionName(type);
  std::optional<double> clamp = getClamp(constant);
  if (clamp && facts.getMaxMagnitude() > *clamp) {
    ++masksClamped;
    float old = -facts.lo > facts.hi ? facts.lo : facts.hi;
    emitConstantRemark(constant, RemarkOutcome::Passed, to,
                       "only masks a softmax: " + formatNumber(old) +
                           " became " +
                           formatNumber(std::copysign(*clamp, old)));
  }
  if (type.isF32())
    return;
  elementsToZero += facts.toZero;
  if (!facts.toZero && !facts.toSubnormal)
    return;
  std::string lost = facts.toZero ? ", the largest of them " +
                                        formatNumber(facts.largestToZero)
                                  : "";
  emitConstantRemark(constant, RemarkOutcome::Passed, to,
                     "of " + std::to_string(facts.elements) + " elements " +
                         std::to_string(facts.toZero) + " became zero" + lost +
                         ", " + std::to_string(facts.toSubnormal) +
                         " lost precision as subnormals");
}

/// Reports why a constant that does not fit 16 bit has stayed fp32.
void ConvertWeights::reportOverflow(Operation *constant) {
  Type low = getLowType(getOperation());
  if (!low || !constant->hasAttr(mark::range) || getClamp(constant))
    return;
  ConstantRange range(getElementKind(low));
  const ConstantFacts &facts = range.getFacts(constant);
  if (!facts.fits())
    emitConstantRemark(constant, RemarkOutcome::Missed, "f32",
                       range.explain(constant) + "; of " +
                           std::to_string(facts.elements) + " elements " +
                           std::to_string(facts.overflows) + " overflow, " +
                           std::to_string(facts.toZero) + " become zero");
}

/// A constant that becomes an output of the graph in place of a cast takes over
/// its name.
static void takeOutputName(OpResult cast, OpResult constant) {
  StringRef name = onnxir::getValueName(cast);
  bool isOutput = llvm::any_of(cast.getUsers(), [](Operation *user) {
    return isa<YieldOp>(user) && isa<GraphOp>(user->getParentOp());
  });
  if (isOutput && !name.empty())
    setValueName(constant, name.str());
}

void ConvertWeights::convert(Operation *constant, SchemaCache &schemas) {
  ConstantUses uses = collectUses(constant->getResult(0));
  if (uses.casts.empty() || isDenied(constant) ||
      !admitsResult(constant, uses.castType, schemas))
    return reportOverflow(constant);
  Operation *converted = constant;
  if (uses.hasOther)
    converted = copy(constant, uses.casts.front(), isScale(uses.casts));
  else if (!convertConstant(constant, uses.castType))
    return;
  if (!converted)
    return;
  for (Operation *cast : uses.casts) {
    takeOutputName(cast->getResult(0), converted->getResult(0));
    cast->getResult(0).replaceAllUsesWith(converted->getResult(0));
    cast->erase();
    ++removed;
  }
  report(converted, uses.castType);
}

/// A mask may stay fp32 while values computed from it become 16 bit; the bound
/// is valid in fp32, too.
void ConvertWeights::clampNarrowedMasks(Operation *scope) {
  for (Operation *constant : findNarrowedMasks(scope)) {
    Type f32 = Float32Type::get(&getContext());
    if (convertConstant(constant, f32))
      report(constant, f32);
  }
}

void ConvertWeights::convertScope(Operation *scope,
                                  const StringSet<> &trainingNames) {
  SchemaCache schemas(scope);
  SmallVector<Operation *> constants;
  scope->walk([&](Operation *op) {
    if (isConstant(op) && isF32Tensor(op->getResult(0).getType()) &&
        !trainingNames.contains(onnxir::getValueName(op->getResult(0))))
      constants.push_back(op);
  });
  for (Operation *constant : constants)
    convert(constant, schemas);
  clampNarrowedMasks(scope);
}

void ConvertWeights::runOnOperation() {
  ModuleOp module = getOperation();
  removed = elementsToZero = masksClamped = 0;
  StringSet<> trainingNames = collectTrainingNames(module);
  for (Operation *scope : getScopes(module))
    convertScope(scope, trainingNames);
  if (removed)
    addToCounter(module, mark::castsRemoved, removed);
  if (elementsToZero)
    addToCounter(module, mark::elementsToZero, elementsToZero);
  if (masksClamped)
    addToCounter(module, mark::masksClamped, masksClamped);
}
