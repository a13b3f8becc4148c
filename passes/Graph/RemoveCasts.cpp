//===- RemoveCasts.cpp - Remove casts of the model that lose nothing ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Casts are visited in order: a cast sees its operand without the casts that
// were removed before it.
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Graph/Parameters.h"

namespace mp {
#define GEN_PASS_DEF_REMOVECASTS
#include "Graph/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

/// Constants of more elements are left to the run time.
static constexpr int64_t maxFoldedElements = 1024;

namespace {

struct RemoveCasts : public mp::impl::RemoveCastsBase<RemoveCasts> {
  void runOnOperation() override;
};

/// Visits the casts of a scope.
class CastRemover {
public:
  explicit CastRemover(const llvm::StringSet<> &trainingNames)
      : trainingNames(trainingNames) {}

  void run(Operation *scope);

private:
  bool isRemovable(Operation *op) const;
  void visit(Operation *cast);
  void skipEarlierCast(Operation *cast);
  void foldConstant(Operation *cast);

  /// Names that training algorithms refer to.
  const llvm::StringSet<> &trainingNames;
};

} // namespace

/// A Cast of the model. Casts for which the user has a rule stay.
bool CastRemover::isRemovable(Operation *op) const {
  if (!op || !isStandardOp(op, "Cast") || isInsertedCast(op) ||
      op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      trainingNames.contains(onnxir::getValueName(op->getResult(0))))
    return false;
  ClassAttr held = getClass(op);
  return !held || (!held.getIsOverride() && !held.getRequestedBy());
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Whole numbers or truth values in another type, as a Cast yields them; null
/// if one does not fit.
static DenseElementsAttr castElements(DenseIntElementsAttr held, Type to) {
  auto from = dyn_cast<IntegerType>(held.getElementType());
  if (!from)
    return {};
  bool isSigned = isSignedNumber(from), fits = true;
  DenseElementsAttr made;
  if (isIEEEFloat(to)) {
    const llvm::fltSemantics &form = cast<FloatType>(to).getFloatSemantics();
    made = held.mapValues(to, [&](const APInt &value) {
      APFloat number(form);
      fits &= !(number.convertFromAPInt(value, isSigned,
                                        APFloat::rmNearestTiesToEven) &
                APFloat::opOverflow);
      return number.bitcastToAPInt();
    });
  } else if (auto whole = dyn_cast<IntegerType>(to)) {
    made = held.mapValues(to, [&](const APInt &value) {
      APInt wide = isSigned ? value.sext(65) : value.zext(65);
      APInt result = wide.trunc(whole.getWidth());
      fits &=
          wide == (isSignedNumber(whole) ? result.sext(65) : result.zext(65));
      return result;
    });
  }
  return fits ? made : DenseElementsAttr();
}

/// Gives a small constant of whole numbers that is only cast to one type that
/// type.
void CastRemover::foldConstant(Operation *cast) {
  Value source = cast->getOperand(0);
  Type to = getTensorElementType(cast->getResult(0).getType());
  Operation *constant = source.getDefiningOp();
  auto initializer = dyn_cast_or_null<InitializerOp>(constant);
  if (!constant || !(initializer || isStandardOp(constant, "Constant")) ||
      (initializer &&
       (initializer.getOverridable() || initializer.getSparse())) ||
      trainingNames.contains(onnxir::getValueName(source)))
    return;
  for (Operation *user : source.getUsers())
    if (!isRemovable(user) ||
        getTensorElementType(user->getResult(0).getType()) != to)
      return;
  Attribute value = initializer ? Attribute(initializer.getValueAttr())
                                : constant->getAttr("value");
  auto tensor = dyn_cast_or_null<TensorAttr>(value);
  auto held = dyn_cast_or_null<DenseIntElementsAttr>(
      tensor ? Attribute(tensor.getValue()) : value);
  if (!held || held.getNumElements() > maxFoldedElements)
    return;
  DenseElementsAttr made = castElements(held, to);
  if (!made)
    return;
  if (initializer)
    initializer.setValueAttr(made);
  else if (tensor)
    constant->setAttr("value", TensorAttr::get(constant->getContext(),
                                               tensor.getFields(), made));
  else
    constant->setAttr("value", made);
  source.setType(withElementType(source.getType(), to));
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// Lets the users of a cast's result read `value` instead. A result that is an
/// output keeps its name, and with it the cast.
static void replaceBy(Operation *cast, Value value) {
  Value result = cast->getResult(0);
  result.replaceUsesWithIf(
      value, [](OpOperand &use) { return !isa<YieldOp>(use.getOwner()); });
  if (result.use_empty())
    cast->erase();
}

/// Reads the operand of the cast before this one, if that has lost nothing and
/// is not needed afterwards.
void CastRemover::skipEarlierCast(Operation *cast) {
  Type to = getTensorElementType(cast->getResult(0).getType());
  Operation *first = cast->getOperand(0).getDefiningOp();
  while (isRemovable(first)) {
    Value source = first->getOperand(0);
    Type before = getTensorElementType(source.getType());
    Type between = getTensorElementType(first->getResult(0).getType());
    if (!before || !between || !holdsAllNumbers(before, between) ||
        !(before == to || (first->getResult(0).hasOneUse() &&
                           (isIEEEFloat(to) || isa<IntegerType>(to)))))
      return;
    cast->setOperand(0, source);
    if (first->use_empty())
      first->erase();
    first = source.getDefiningOp();
  }
}

void CastRemover::visit(Operation *cast) {
  Type to = getTensorElementType(cast->getResult(0).getType());
  if (!to || !getTensorElementType(cast->getOperand(0).getType()))
    return;
  skipEarlierCast(cast);
  foldConstant(cast);
  Value source = cast->getOperand(0);
  if (getTensorElementType(source.getType()) == to)
    replaceBy(cast, source);
}

void CastRemover::run(Operation *scope) {
  SmallVector<Operation *> casts;
  bool isClassified = false, isAllowed = false;
  scope->walk([&](Operation *op) {
    isClassified |= getClass(op) != nullptr;
    isAllowed |= hasClass(op, OpClass::Allow);
    if (isRemovable(op))
      casts.push_back(op);
  });
  // A graph in which nothing is converted stays as it is.
  if (isClassified && !isAllowed)
    return;
  // Only casts before the visited one are erased.
  for (Operation *cast : casts)
    visit(cast);
}

void RemoveCasts::runOnOperation() {
  ModuleOp module = getOperation();
  llvm::StringSet<> trainingNames = collectTrainingNames(module);
  CastRemover remover(trainingNames);
  for (Operation *scope : getScopes(module))
    remover.run(scope);
}
