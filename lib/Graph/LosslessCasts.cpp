//===- LosslessCasts.cpp - Remove casts that lose nothing -----------------===//
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

#include "mp-opt/Graph/LosslessCasts.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Graph/Parameters.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Constants of more elements are left to the run time.
static constexpr int64_t maxFoldedElements = 1024;

namespace {

/// Visits the casts of a scope.
class CastRemover {
public:
  explicit CastRemover(const llvm::StringSet<> &trainingNames)
      : trainingNames(trainingNames) {}

  void run(Operation *scope);
  int64_t getRemoved() const { return removed; }

private:
  bool isRemovable(Operation *op) const;
  void visit(Operation *cast);
  void skipEarlierCast(Operation *cast);
  void foldConstant(Operation *cast);
  void replaceBy(Operation *cast, Value value);
  void takeOver(Operation *cast, Operation *first);
  void erase(Operation *cast);

  /// Names that training algorithms refer to.
  const llvm::StringSet<> &trainingNames;
  /// Removed casts that a pass had inserted.
  int64_t removed = 0;
};

} // namespace

/// Casts for which the user has a rule stay.
bool CastRemover::isRemovable(Operation *op) const {
  if (!op || !isStandardOp(op, "Cast") || op->getNumOperands() != 1 ||
      op->getNumResults() != 1 ||
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

void CastRemover::erase(Operation *cast) {
  removed += isInsertedCast(cast);
  cast->erase();
}

/// Lets the users of a cast's result read `value` instead. A result that is an
/// output keeps its name, and with it the cast.
void CastRemover::replaceBy(Operation *cast, Value value) {
  Value result = cast->getResult(0);
  result.replaceUsesWithIf(
      value, [](OpOperand &use) { return !isa<YieldOp>(use.getOwner()); });
  if (result.use_empty())
    erase(cast);
}

/// True for a cast that may give an output its name.
static bool isYielded(Operation *cast) {
  return llvm::any_of(cast->getUsers(),
                      [](Operation *user) { return isa<YieldOp>(user); });
}

/// Makes an inserted cast the model's own cast before it, which is to be
/// erased, with another type.
void CastRemover::takeOver(Operation *cast, Operation *first) {
  for (StringRef name : {StringRef(attr::name), StringRef(attr::results),
                         StringRef(mark::opClass)})
    if (Attribute value = first->getAttr(name))
      cast->setAttr(name, value);
    else
      cast->removeAttr(name);
  if (getPrecision(first))
    cast->setAttr(
        mark::precision,
        PrecisionAttr::get(
            cast->getContext(),
            getTensorElementType(cast->getResult(0).getType()),
            StringAttr::get(cast->getContext(), "a cast merged into it")));
  cast->removeAttr(mark::inserted);
  ++removed;
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
    if (isInsertedCast(cast) && !isInsertedCast(first) && before != to &&
        !isYielded(cast))
      takeOver(cast, first);
    if (first->use_empty())
      erase(first);
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

int64_t removeLosslessCasts(ModuleOp module) {
  llvm::StringSet<> trainingNames = collectTrainingNames(module);
  CastRemover remover(trainingNames);
  for (Operation *scope : getScopes(module))
    remover.run(scope);
  return remover.getRemoved();
}

} // namespace mp
