//===- SimplifyCasts.cpp - Move and remove inserted casts -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Casts are visited from the end of the graph to its start: a cast that moves
// before data movement reaches the next movement there, and is visited again.
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Precision/Assignment/Assignment.h"

namespace mp {
#define GEN_PASS_DEF_SIMPLIFYCASTS
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct SimplifyCasts : public mp::impl::SimplifyCastsBase<SimplifyCasts> {
  void runOnOperation() override;
};

class CastSimplifier {
public:
  CastSimplifier(Operation *scope, Type lowType)
      : scope(scope), lowType(lowType), schemas(scope) {}

  void run();
  int64_t getRemoved() const { return removed; }

private:
  void visit(Operation *cast);
  bool cancel(Operation *cast);
  bool merge(Operation *cast);
  bool hoist(Operation *cast);
  bool canRunLow(Operation *movement);
  void erase(Operation *cast);

  Operation *scope;
  Type lowType;
  SchemaCache schemas;
  std::vector<Operation *> worklist;
  /// The cast of a value to the 16-bit type.
  llvm::DenseMap<Value, Operation *> narrowings;
  llvm::DenseSet<Operation *> erased;
  int64_t removed = 0;
};

} // namespace

/// Ops that only move elements of their first operand, to one result.
static bool isDataMovement(Operation *op) {
  return op->getNumResults() == 1 && getOperatorTraits(op).movesData();
}

/// Moves the cast right after the definition of its operand, where every user
/// can see it.
static void moveToDefinition(Operation *cast) {
  Value source = cast->getOperand(0);
  if (auto argument = dyn_cast<BlockArgument>(source))
    cast->moveBefore(argument.getOwner(), argument.getOwner()->begin());
  else
    cast->moveAfter(source.getDefiningOp());
}

/// The number of elements; 0 if it is not known.
static int64_t getSize(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? type.getNumElements() : 0;
}

void CastSimplifier::erase(Operation *cast) {
  erased.insert(cast);
  if (narrowings.lookup(cast->getOperand(0)) == cast)
    narrowings.erase(cast->getOperand(0));
  cast->erase();
  ++removed;
}

/// True for a cast whose result is an output of the graph, and has its name.
static bool isOutput(Operation *cast) {
  if (onnxir::getValueName(cast->getResult(0)).empty())
    return false;
  return llvm::any_of(cast->getUsers(), [](Operation *user) {
    return isa<YieldOp>(user) && isa<GraphOp>(user->getParentOp());
  });
}

/// Gives the value that takes the place of the cast its name if the cast is an
/// output of the graph.
static void handOverName(Operation *cast, Value value) {
  if (!isOutput(cast))
    return;
  std::string name = onnxir::getValueName(cast->getResult(0)).str();
  setValueName(cast->getResult(0), onnxir::getValueName(value).str());
  setValueName(mlir::cast<OpResult>(value), name);
}

/// Removes a narrowing cast of a widened value: it gives back the narrow value
/// exactly.
bool CastSimplifier::cancel(Operation *cast) {
  Operation *source = cast->getOperand(0).getDefiningOp();
  if (!isInsertedCast(source) ||
      source->getOperand(0).getType() != cast->getResult(0).getType() ||
      !is16BitTensor(cast->getResult(0).getType()) || isOutput(cast))
    return false;
  cast->getResult(0).replaceAllUsesWith(source->getOperand(0));
  erase(cast);
  if (source->use_empty())
    erase(source);
  return true;
}

/// Lets a cast of the model from integers or truth values, whose fp32 result is
/// only narrowed, yield the 16-bit type itself, which rounds once. fp32 holds
/// integers up to 2^24: the result is the same in fp16, and the nearest number
/// in bf16.
bool CastSimplifier::merge(Operation *cast) {
  Value value = cast->getOperand(0);
  Operation *source = value.getDefiningOp();
  if (!source || !isStandardOp(source, "Cast") || isInsertedCast(source) ||
      source->getNumOperands() != 1 || !value.hasOneUse() ||
      getTensorElementType(cast->getResult(0).getType()) != lowType)
    return false;
  if (!isa_and_nonnull<IntegerType>(
          getTensorElementType(source->getOperand(0).getType())))
    return false;
  narrowings.erase(value);
  handOverName(cast, value);
  source->setAttr("to", cast->getAttr("to"));
  value.setType(withElementType(value.getType(), lowType));
  MLIRContext *context = source->getContext();
  if (getPrecision(source))
    source->setAttr(
        mark::precision,
        PrecisionAttr::get(context, lowType,
                           StringAttr::get(context, "a cast merged into it")));
  if (isOutput(cast))
    setValueName(mlir::cast<OpResult>(value),
                 onnxir::getValueName(cast->getResult(0)));
  cast->getResult(0).replaceAllUsesWith(value);
  erase(cast);
  return true;
}

/// The node is fp32 only because its operand is, and the schema allows 16 bit.
bool CastSimplifier::canRunLow(Operation *movement) {
  PrecisionAttr precision = getPrecision(movement);
  if (!precision || precision.getReason().getValue() != followsF32)
    return false;
  FloatSignature signature(movement, schemas.lookup(movement).schema);
  return signature && signature.getKind() == ElementKind::Float &&
         signature.getOperands() == ArrayRef<unsigned>{0} &&
         signature.admits(getElementKind(lowType));
}

bool CastSimplifier::hoist(Operation *cast) {
  Operation *movement = cast->getOperand(0).getDefiningOp();
  if (!movement || !isDataMovement(movement) ||
      getTensorElementType(cast->getResult(0).getType()) != lowType ||
      !canRunLow(movement))
    return false;
  // All casts of one value are one cast.
  Value moved = movement->getResult(0), source = movement->getOperand(0);
  if (!moved.hasOneUse())
    return false;
  Operation *sourceCast = narrowings.lookup(source);
  bool grows = getSize(source) && getSize(source) < getSize(moved);
  if (!sourceCast && !grows)
    return false;
  handOverName(cast, moved);
  if (sourceCast) {
    movement->setOperand(0, sourceCast->getResult(0));
    cast->getResult(0).replaceAllUsesWith(moved);
    erase(cast);
  } else {
    // The cast keeps its name, and now casts the smaller value.
    cast->getResult(0).replaceAllUsesWith(moved);
    narrowings.erase(moved);
    narrowings[source] = cast;
    cast->setOperand(0, source);
    cast->getResult(0).setType(withElementType(source.getType(), lowType));
    movement->setOperand(0, cast->getResult(0));
    worklist.push_back(cast);
    // Other movements of the source have a narrow operand now.
    for (Operation *user : source.getUsers())
      if (user->getNumResults())
        if (Operation *other = narrowings.lookup(user->getResult(0)))
          worklist.push_back(other);
    sourceCast = cast;
  }
  moveToDefinition(sourceCast);
  moved.setType(withElementType(moved.getType(), lowType));
  MLIRContext *context = movement->getContext();
  movement->setAttr(
      mark::precision,
      PrecisionAttr::get(context, lowType,
                         StringAttr::get(context, "a cast moved above it")));
  return true;
}

void CastSimplifier::visit(Operation *cast) {
  if (cast->use_empty())
    return erase(cast);
  if (!cancel(cast) && !merge(cast))
    hoist(cast);
}

void CastSimplifier::run() {
  scope->walk([&](Operation *op) {
    if (!isInsertedCast(op))
      return;
    worklist.push_back(op);
    if (getTensorElementType(op->getResult(0).getType()) == lowType)
      narrowings[op->getOperand(0)] = op;
  });
  while (!worklist.empty()) {
    Operation *cast = worklist.back();
    worklist.pop_back();
    if (!erased.contains(cast))
      visit(cast);
  }
}

void SimplifyCasts::runOnOperation() {
  ModuleOp module = getOperation();
  Type low = getLowType(module);
  if (!low)
    return;
  for (Operation *scope : getScopes(module)) {
    CastSimplifier simplifier(scope, low);
    simplifier.run();
    addToCounter(module, mark::castsRemoved, simplifier.getRemoved());
  }
}
